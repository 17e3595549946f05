// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 section 6.9: user-defined operations, and the local reduction.
#include "core/op.hpp"

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/datatype.hpp"
#include "core/device_copy.hpp"

namespace tern::api {
namespace {

template <class Function>
int create_op(Function* function, int commute, MPI_Op* handle) noexcept {
  if (function == nullptr) return fail(MPI_ERR_ARG, "user_fn is a null pointer");
  return guarded([&] {
    auto op = core::Ref<core::Op>::adopt(new core::Op(function, commute != 0));
    *handle = reinterpret_cast<MPI_Op>(the_process->handles.insert(*op));
    static_cast<void>(op.leak());
  });
}

}  // namespace

int op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) noexcept {
  return create_op(user_fn, commute, op);
}
int op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) noexcept {
  return create_op(user_fn, commute, op);
}

int op_free(MPI_Op* op) noexcept {
  core::Op* found = the_process->handles.find<core::Op>(*op);
  if (found == nullptr)
    return fail(MPI_ERR_OP, "op is %s",
                *op == MPI_OP_NULL ? "MPI_OP_NULL" : "not an operation (or freed)");
  if (found->predefined())
    return fail(MPI_ERR_OP, "%s is predefined and cannot be freed", found->name());
  the_process->handles.erase(*found);
  found->release();
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int op_commutative(core::Op& op, int* commute) noexcept {
  *commute = op.commutative() ? 1 : 0;
  return MPI_SUCCESS;
}

int reduce_local(const void* inbuf, void* inoutbuf, MPI_Count count, core::Datatype& datatype,
                 core::Op& op) noexcept {
  const int code = op.check(datatype);
  if (code != MPI_SUCCESS) return code;
  if (inbuf == inoutbuf && count > 0)
    return fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are both %p, but must not share memory", inbuf);
  if (count == 0) return MPI_SUCCESS;
  const core::Data operands[] = {{const_cast<void*>(inbuf), count, &datatype},
                                 {inoutbuf, count, &datatype}};
  return fail(core::reduce(*the_process, op, operands, 2, operands[1]));
}

}  // namespace tern::api
