// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "collective communication" (MPI-5.0 chapter 6): reductions.
#include "api/coll/coll.hpp"

#include "api/bodies.hpp"
#include "api/process.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

/// The operation must accept the type. Buffers must differ, unless MPI_IN_PLACE makes the output
/// the input.
Described reduced(Collective collective, const Side& input, const Side& output, core::Op& op,
                  Communicator& comm) noexcept {
  Described what = describe(collective, comm);
  Operation& operation = what.operation;
  operation.op = &op;
  operation.in_place = input.address == MPI_IN_PLACE;
  operation.input = input;
  if (operation.in_place) operation.input.address = output.address;
  operation.output = output;
  if (what.code == MPI_SUCCESS) what.code = op.check(*input.type);
  const bool shared = output.type != nullptr && input.address == output.address &&
                      (input.count > 0 || output.count > 0);
  what.aliased = what.code == MPI_SUCCESS && shared && !operation.in_place;
  if (what.aliased)
    what.code = fail(MPI_ERR_BUFFER,
                     "sendbuf and recvbuf are both %p on rank %d; pass MPI_IN_PLACE as sendbuf to "
                     "reduce in place",
                     input.address, comm.rank());
  return what;
}

Side vector_of(const void* buffer, MPI_Count count, Datatype& type) noexcept {
  return {const_cast<void*>(buffer), count, &type, nullptr, nullptr};
}

int check_parts(const MPI_Count* counts, int ranks) noexcept {
  if (counts == nullptr) return fail(MPI_ERR_ARG, "recvcounts is a null pointer");
  for (int i = 0; i < ranks && the_process->checks; ++i)
    if (counts[i] < 0)
      return fail(MPI_ERR_COUNT, "recvcounts[%d] is %lld; a count must not be negative", i,
                  static_cast<long long>(counts[i]));
  return MPI_SUCCESS;
}

}  // namespace

int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type, core::Op& op,
           int root, Communicator& comm, Form form) noexcept {
  const bool at_root = is_root(comm, root), sends = is_leaf(comm, root);
  const Side output = at_root ? vector_of(recvbuf, count, type) : Side{};
  if (!at_root && !sends) {
    Described beside = describe(Collective::kReduce, comm);
    beside.operation.root = root;
    return start(beside, form);
  }
  Described what = reduced(Collective::kReduce, vector_of(sends ? sendbuf : nullptr, count, type),
                           sends ? output : Side{}, op, comm);
  what.operation.output = output;
  what.operation.root = root;
  if (!at_root && sendbuf == MPI_IN_PLACE)
    what.code =
        fail(MPI_ERR_BUFFER,
             "sendbuf is MPI_IN_PLACE on rank %d, but only the root, %d, may pass MPI_IN_PLACE",
             comm.rank(), root);
  return start(what, form);
}

int allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type, core::Op& op,
              Communicator& comm, Form form) noexcept {
  return start(reduced(Collective::kAllreduce, vector_of(sendbuf, count, type),
                       vector_of(recvbuf, count, type), op, comm),
               form);
}

int reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, Datatype& type,
                         core::Op& op, Communicator& comm, Form form) noexcept {
  return start(reduced(Collective::kReduceScatter, vector_of(sendbuf, recvcount, type),
                       vector_of(recvbuf, recvcount, type), op, comm),
               form);
}

int reduce_scatter(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts, Datatype& type,
                   core::Op& op, Communicator& comm, Form form) noexcept {
  Side input = vector_of(sendbuf, 0, type);
  input.counts = recvcounts;
  if (const int code = check_parts(recvcounts, comm.size()); code != MPI_SUCCESS) {
    Described wrong = describe(Collective::kReduceScatter, comm);
    wrong.code = code;
    return start(wrong, form);
  }
  Described what = reduced(Collective::kReduceScatter, input,
                           vector_of(recvbuf, recvcounts[comm.rank()], type), op, comm);
  what.operation.irregular = true;
  return start(what, form);
}

int scan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type, core::Op& op,
         Communicator& comm, Form form) noexcept {
  return start(reduced(Collective::kScan, vector_of(sendbuf, count, type),
                       vector_of(recvbuf, count, type), op, comm),
               form);
}

int exscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type, core::Op& op,
           Communicator& comm, Form form) noexcept {
  // Rank 0 has no result, but refuses equal buffers (as in MPICH): otherwise rank 0 alone would
  // start the call.
  return start(reduced(Collective::kExscan, vector_of(sendbuf, count, type),
                       vector_of(recvbuf, count, type), op, comm),
               form);
}

}  // namespace tern::api
