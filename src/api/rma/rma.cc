// SPDX-License-Identifier: Apache-2.0
// Operations on windows: MPI-5.0 section 12.3.
#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "core/op.hpp"
#include "rma/request.hpp"
#include "rma/window.hpp"

namespace tern::api {
namespace {

using core::Data;
using core::Datatype;
using core::Op;
using rma::OpRequest;
using rma::TargetData;
using rma::Window;

Data data_of(const void* address, MPI_Count count, Datatype& type) noexcept {
  return {const_cast<void*>(address), count, &type};
}

template <class Begin>
int begin_with_request(Window& win, MPI_Request* request, Begin&& begin) noexcept {
  return attempt([&] {
    auto* const made = new OpRequest(win.targets.process(), win.targets.communicator().channel());
    const int code = begin(made);
    {
      const core::ChannelLock lock(win.targets.progress());
      made->end_part(MPI_SUCCESS);
    }
    if (code == MPI_SUCCESS)
      *request = reinterpret_cast<MPI_Request>(made->handle());
    else
      made->release();
    return code;
  });
}

TERN_COLD int null_buffer(const char* name) noexcept {
  return fail(MPI_ERR_BUFFER, "%s is a null pointer", name);
}

int check_comparable(const Datatype& type) noexcept {
  const Number number = type.basic() != nullptr ? type.basic()->number() : Number::kNone;
  const bool integer = number >= Number::kInt8 && number <= Number::kInt128;
  const bool logical = number >= Number::kBool && number <= Number::kByte;
  if ((type.predefined() || type.permanent()) && (integer || logical)) return MPI_SUCCESS;
  return fail(MPI_ERR_TYPE,
              "datatype is %s; this call takes predefined integers, logicals and MPI_BYTE",
              type.name.or_words("a derived datatype").c_str());
}

}  // namespace

int put(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, MPI_Count target_count, Datatype& target_datatype,
        Window& win) noexcept {
  return win.put(data_of(origin_addr, origin_count, origin_datatype),
                 {target_rank, target_disp, target_count, &target_datatype}, nullptr);
}

int get(void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype, int target_rank,
        MPI_Aint target_disp, MPI_Count target_count, Datatype& target_datatype,
        Window& win) noexcept {
  return win.get(data_of(origin_addr, origin_count, origin_datatype),
                 {target_rank, target_disp, target_count, &target_datatype}, nullptr);
}

int accumulate(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               Datatype& target_datatype, Op& op, Window& win) noexcept {
  return win.accumulate(data_of(origin_addr, origin_count, origin_datatype),
                        {target_rank, target_disp, target_count, &target_datatype}, op, nullptr);
}

int get_accumulate(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype,
                   void* result_addr, MPI_Count result_count, Datatype& result_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   Datatype& target_datatype, Op& op, Window& win) noexcept {
  return win.get_accumulate(data_of(origin_addr, origin_count, origin_datatype),
                            data_of(result_addr, result_count, result_datatype),
                            {target_rank, target_disp, target_count, &target_datatype}, op,
                            nullptr);
}

int fetch_and_op(const void* origin_addr, void* result_addr, Datatype& datatype, int target_rank,
                 MPI_Aint target_disp, Op& op, Window& win) noexcept {
  if (!datatype.predefined() && !datatype.permanent() && target_rank != MPI_PROC_NULL)
    return fail(MPI_ERR_TYPE, "datatype is derived, but this call takes predefined datatypes");
  if (TERN_UNLIKELY(result_addr == nullptr ||
                    (origin_addr == nullptr && op.reduction() != Reduction::kNoOp)) &&
      target_rank != MPI_PROC_NULL)
    return null_buffer(result_addr == nullptr ? "result_addr" : "origin_addr");
  return win.fetch_and_op(origin_addr, result_addr, {target_rank, target_disp, 1, &datatype}, op);
}

int compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                     Datatype& datatype, int target_rank, MPI_Aint target_disp,
                     Window& win) noexcept {
  const int code = check_comparable(datatype);
  if (code != MPI_SUCCESS) return code;
  if (TERN_UNLIKELY(result_addr == nullptr || origin_addr == nullptr || compare_addr == nullptr) &&
      target_rank != MPI_PROC_NULL)
    return null_buffer(result_addr == nullptr   ? "result_addr"
                       : origin_addr == nullptr ? "origin_addr"
                                                : "compare_addr");
  return win.compare_and_swap(origin_addr, compare_addr, result_addr,
                              {target_rank, target_disp, 1, &datatype});
}

int rput(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype,
         int target_rank, MPI_Aint target_disp, MPI_Count target_count, Datatype& target_datatype,
         Window& win, MPI_Request* request) noexcept {
  return begin_with_request(win, request, [&](OpRequest* made) {
    return win.put(data_of(origin_addr, origin_count, origin_datatype),
                   {target_rank, target_disp, target_count, &target_datatype}, made);
  });
}

int rget(void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype, int target_rank,
         MPI_Aint target_disp, MPI_Count target_count, Datatype& target_datatype, Window& win,
         MPI_Request* request) noexcept {
  return begin_with_request(win, request, [&](OpRequest* made) {
    return win.get(data_of(origin_addr, origin_count, origin_datatype),
                   {target_rank, target_disp, target_count, &target_datatype}, made);
  });
}

int raccumulate(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                Datatype& target_datatype, Op& op, Window& win, MPI_Request* request) noexcept {
  return begin_with_request(win, request, [&](OpRequest* made) {
    return win.accumulate(data_of(origin_addr, origin_count, origin_datatype),
                          {target_rank, target_disp, target_count, &target_datatype}, op, made);
  });
}

int rget_accumulate(const void* origin_addr, MPI_Count origin_count, Datatype& origin_datatype,
                    void* result_addr, MPI_Count result_count, Datatype& result_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    Datatype& target_datatype, Op& op, Window& win, MPI_Request* request) noexcept {
  return begin_with_request(win, request, [&](OpRequest* made) {
    return win.get_accumulate(data_of(origin_addr, origin_count, origin_datatype),
                              data_of(result_addr, result_count, result_datatype),
                              {target_rank, target_disp, target_count, &target_datatype}, op, made);
  });
}

}  // namespace tern::api
