// SPDX-License-Identifier: Apache-2.0
// Collectives of one vector: broadcast, the reductions, the barrier (of none).
#include <algorithm>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "mpi.h"
#include "stream/area.hpp"
#include "stream/collective.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

/// What the host's operation works on: `count` elements of `type`, each `bytes` long and one behind
/// the other, and how the program's elements become these.
struct Elements {
  core::Datatype* type;
  MPI_Count count;
  size_t bytes;
  core::Datatype* moved_as;  // by their packed form
  MPI_Count moved_count;
};

bool is_dense(const core::Datatype& type) noexcept {
  return type.contiguous() && type.true_lb() == 0 && type.lb() == 0 && type.extent() == type.size();
}

/// Pairs with a gap, which C leaves open, move with it.
Elements elements_of(core::Process& process, const Operation& operation, const Side& side) {
  core::Datatype& type = *side.type;
  core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
  if (operation.op == nullptr) {
    const MPI_Count bytes = side.count * type.size();
    return {&byte, bytes, 1, &type, side.count};
  }
  const auto extent = static_cast<size_t>(type.extent());
  if (is_dense(type)) return {&type, side.count, extent, &type, side.count};
  if (type.number() != Number::kNone)
    return {&type, side.count, extent, &byte, side.count * type.extent()};
  auto* const basic = const_cast<core::Datatype*>(type.basic());
  if (!operation.op->user_defined() && basic != nullptr && is_dense(*basic)) {
    const MPI_Count each = type.size() / basic->size();
    return {basic, side.count * each, static_cast<size_t>(basic->size()), &type, side.count};
  }
  throw Error(MPI_ERR_TYPE,
              strf("%s on a type with holes (%lld bytes of data in %lld) cannot be enqueued; pack "
                   "the data, or use a type without holes",
                   operation.op->name(), static_cast<long long>(type.size()),
                   static_cast<long long>(type.extent())));
}

class VectorCall final : public Call {
 public:
  VectorCall(CommStream& on, const Operation& operation, const char* function)
      : Call(function), operation_(operation), op_(operation.op) {
    overlaps = true;
    core::Process& process = on.communicator().process();
    operation_.communicator = &on.shadow();
    if (operation.collective == Collective::kBarrier) return;
    const int rank = on.communicator().rank();
    const bool at_root = rank == operation.root;
    const bool bcast = operation.collective == Collective::kBcast;
    const Side& shape = bcast ? operation.output : operation.input;
    elements_ = elements_of(process, operation, shape);
    type_ = core::Ref<core::Datatype>(elements_.type);
    per_pass_ = static_cast<MPI_Count>(on.chunk() / elements_.bytes);
    if (per_pass_ == 0)
      throw Error(MPI_ERR_NO_MEM,
                  strf("an element of %zu bytes does not fit the %zu bytes of a chunk; "
                       "TERN_STREAM_CHUNK sets them",
                       elements_.bytes, on.chunk()));
    passes = static_cast<int>((elements_.count + per_pass_ - 1) / per_pass_);
    const auto area = [&](const Side& side) {
      return Area(process, on.gpu(), side.address, elements_.moved_count, *elements_.moved_as);
    };
    if (passes == 0) return;
    if (!bcast || at_root) in_ = area(shape);
    if (bcast                                         ? !at_root
        : operation.collective == Collective::kReduce ? at_root
        : operation.collective == Collective::kExscan ? rank != 0
                                                      : true)
      out_ = area(operation.output);
  }

  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    if (in_.there()) in_.copy_in(track, offset(pass), half, bytes(pass));
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    if (out_.there()) out_.copy_out(track, offset(pass), half, bytes(pass));
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (in_.there())
      if (const int code = in_.take(offset(pass), half, bytes(pass)); code != MPI_SUCCESS)
        return code;
    const Operation part = part_of(pass, half);
    core::Request* request = nullptr;
    requests->reserve(1);
    const int code = part.communicator->channel().coll->start(part, &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    return out_.there() ? out_.give(offset(pass), half, bytes(pass)) : MPI_SUCCESS;
  }

 private:
  [[nodiscard]] MPI_Count count(int pass) const noexcept {
    return std::min(per_pass_, elements_.count - pass * per_pass_);
  }
  [[nodiscard]] size_t offset(int pass) const noexcept {
    return static_cast<size_t>(pass * per_pass_) * elements_.bytes;
  }
  [[nodiscard]] size_t bytes(int pass) const noexcept {
    return static_cast<size_t>(count(pass)) * elements_.bytes;
  }
  /// In place on the half, but where this rank gets no result.
  [[nodiscard]] Operation part_of(int pass, std::byte* half) const noexcept {
    Operation part = operation_;
    if (part.collective == Collective::kBarrier) return part;
    const Side here{half, count(pass), elements_.type};
    if (part.collective == Collective::kBcast) {
      part.output = here;
      return part;
    }
    part.input = here;
    part.in_place = part.collective != Collective::kReduce || out_.there();
    part.output = part.in_place ? here : Side{};
    return part;
  }

  Operation operation_;
  const core::Ref<core::Op> op_;
  core::Ref<core::Datatype> type_;
  Elements elements_{};
  MPI_Count per_pass_ = 0;
  Area in_, out_;
};

}  // namespace

std::unique_ptr<Call> make_vector_call(CommStream& on, const Operation& operation,
                                       const char* name) {
  return std::make_unique<VectorCall>(on, operation, name);
}

}  // namespace tern::stream
