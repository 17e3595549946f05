// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "collective communication": reductions.
// Each operation is described once; its blocking, nonblocking and persistent forms start that
// description. See: MPI-5.0 chapter 6.
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

/// Common to all: the operation must take the type; buffers must differ unless MPI_IN_PLACE says
/// that they do not. Under MPI_IN_PLACE the input is where the result will be.
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

Described reduce_of(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type,
                    core::Op& op, int root, Communicator& comm) noexcept {
  const bool at_root = is_root(comm, root), sends = is_leaf(comm, root);
  const Side output = at_root ? vector_of(recvbuf, count, type) : Side{};
  if (!at_root && !sends) {
    Described beside = describe(Collective::kReduce, comm);  // the root's group: nothing counts
    beside.operation.root = root;
    return beside;
  }
  Described what = reduced(Collective::kReduce, vector_of(sends ? sendbuf : nullptr, count, type),
                           sends ? output : Side{}, op, comm);
  what.operation.output = output;
  what.operation.root = root;
  if (!at_root && sendbuf == MPI_IN_PLACE)
    what.code =
        fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE on rank %d; only the root, %d, may say so",
             comm.rank(), root);
  return what;
}

Described allreduce_of(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type,
                       core::Op& op, Communicator& comm) noexcept {
  return reduced(Collective::kAllreduce, vector_of(sendbuf, count, type),
                 vector_of(recvbuf, count, type), op, comm);
}

Described reduce_scatter_block_of(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                  Datatype& type, core::Op& op, Communicator& comm) noexcept {
  return reduced(Collective::kReduceScatter, vector_of(sendbuf, recvcount, type),
                 vector_of(recvbuf, recvcount, type), op, comm);
}

int check_parts(const MPI_Count* counts, int ranks) noexcept {
  if (counts == nullptr) return fail(MPI_ERR_ARG, "recvcounts is a null pointer");
  for (int i = 0; i < ranks && the_process->checks; ++i)
    if (counts[i] < 0)
      return fail(MPI_ERR_COUNT, "recvcounts[%d] is %lld; a count must not be negative", i,
                  static_cast<long long>(counts[i]));
  return MPI_SUCCESS;
}

Described reduce_scatter_of(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts,
                            Datatype& type, core::Op& op, Communicator& comm) noexcept {
  Side input = vector_of(sendbuf, 0, type);
  input.counts = recvcounts;
  if (const int code = check_parts(recvcounts, comm.size()); code != MPI_SUCCESS) {
    Described wrong = describe(Collective::kReduceScatter, comm);
    wrong.code = code;
    return wrong;
  }
  Described what = reduced(Collective::kReduceScatter, input,
                           vector_of(recvbuf, recvcounts[comm.rank()], type), op, comm);
  what.operation.irregular = true;
  return what;
}

Described scan_of(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type, core::Op& op,
                  Communicator& comm) noexcept {
  return reduced(Collective::kScan, vector_of(sendbuf, count, type),
                 vector_of(recvbuf, count, type), op, comm);
}

Described exscan_of(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& type,
                    core::Op& op, Communicator& comm) noexcept {
  // Rank 0 has no result, but refuses equal buffers as the others do (so does MPICH): otherwise it
  // would begin a call that they do not.
  return reduced(Collective::kExscan, vector_of(sendbuf, count, type),
                 vector_of(recvbuf, count, type), op, comm);
}

}  // namespace

int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
           int root, Communicator& comm) noexcept {
  return run(reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm));
}

int reduce_enqueue(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                   core::Op& op, int root, Communicator& comm) noexcept {
  return enqueue(reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm),
                 "MPIX_Reduce_enqueue");
}

int ireduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
            int root, Communicator& comm, MPI_Request* request) noexcept {
  return begin(reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm), request);
}

int reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                core::Op& op, int root, Communicator& comm, core::Info*,
                MPI_Request* request) noexcept {
  return plan(reduce_of(sendbuf, recvbuf, count, datatype, op, root, comm), request);
}

int allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
              Communicator& comm) noexcept {
  return run(allreduce_of(sendbuf, recvbuf, count, datatype, op, comm));
}

int allreduce_enqueue(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                      core::Op& op, Communicator& comm) noexcept {
  return enqueue(allreduce_of(sendbuf, recvbuf, count, datatype, op, comm),
                 "MPIX_Allreduce_enqueue");
}

int iallreduce(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
               core::Op& op, Communicator& comm, MPI_Request* request) noexcept {
  return begin(allreduce_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

int allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                   core::Op& op, Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(allreduce_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

int reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                         Datatype& datatype, core::Op& op, Communicator& comm) noexcept {
  return run(reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm));
}

int reduce_scatter_block_enqueue(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                 Datatype& datatype, core::Op& op, Communicator& comm) noexcept {
  return enqueue(reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm),
                 "MPIX_Reduce_scatter_block_enqueue");
}

int ireduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                          Datatype& datatype, core::Op& op, Communicator& comm,
                          MPI_Request* request) noexcept {
  return begin(reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm), request);
}

int reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                              Datatype& datatype, core::Op& op, Communicator& comm, core::Info*,
                              MPI_Request* request) noexcept {
  return plan(reduce_scatter_block_of(sendbuf, recvbuf, recvcount, datatype, op, comm), request);
}

int reduce_scatter(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts,
                   Datatype& datatype, core::Op& op, Communicator& comm) noexcept {
  return run(reduce_scatter_of(sendbuf, recvbuf, recvcounts, datatype, op, comm));
}

int reduce_scatter_enqueue(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts,
                           Datatype& datatype, core::Op& op, Communicator& comm) noexcept {
  return enqueue(reduce_scatter_of(sendbuf, recvbuf, recvcounts, datatype, op, comm),
                 "MPIX_Reduce_scatter_enqueue");
}

int ireduce_scatter(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts,
                    Datatype& datatype, core::Op& op, Communicator& comm,
                    MPI_Request* request) noexcept {
  return begin(reduce_scatter_of(sendbuf, recvbuf, recvcounts, datatype, op, comm), request);
}

int reduce_scatter_init(const void* sendbuf, void* recvbuf, const MPI_Count* recvcounts,
                        Datatype& datatype, core::Op& op, Communicator& comm, core::Info*,
                        MPI_Request* request) noexcept {
  return plan(reduce_scatter_of(sendbuf, recvbuf, recvcounts, datatype, op, comm), request);
}

int scan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
         Communicator& comm) noexcept {
  return run(scan_of(sendbuf, recvbuf, count, datatype, op, comm));
}

int scan_enqueue(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                 core::Op& op, Communicator& comm) noexcept {
  return enqueue(scan_of(sendbuf, recvbuf, count, datatype, op, comm), "MPIX_Scan_enqueue");
}

int iscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
          Communicator& comm, MPI_Request* request) noexcept {
  return begin(scan_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

int scan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
              Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(scan_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

int exscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
           Communicator& comm) noexcept {
  return run(exscan_of(sendbuf, recvbuf, count, datatype, op, comm));
}

int exscan_enqueue(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                   core::Op& op, Communicator& comm) noexcept {
  return enqueue(exscan_of(sendbuf, recvbuf, count, datatype, op, comm), "MPIX_Exscan_enqueue");
}

int iexscan(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype, core::Op& op,
            Communicator& comm, MPI_Request* request) noexcept {
  return begin(exscan_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

int exscan_init(const void* sendbuf, void* recvbuf, MPI_Count count, Datatype& datatype,
                core::Op& op, Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(exscan_of(sendbuf, recvbuf, count, datatype, op, comm), request);
}

}  // namespace tern::api
