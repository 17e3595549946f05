// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "collective communication": operations that move data, and the barrier.
// Each operation is described once; its blocking, nonblocking and persistent forms start that
// description (coll_describe.cc). See: MPI-5.0 chapter 6.
#include "api/coll.hpp"

#include "api/bodies.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

Side side_of(const void* buffer, MPI_Count count, Datatype& type) noexcept {
  return {const_cast<void*>(buffer), count, &type, nullptr, nullptr};
}

Side side_of(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
             Datatype& type) noexcept {
  return {const_cast<void*>(buffer), 0, &type, counts, displs};
}

Described barrier_of(Communicator& comm) noexcept { return describe(Collective::kBarrier, comm); }

Described bcast_of(void* buffer, MPI_Count count, Datatype& type, int root,
                   Communicator& comm) noexcept {
  Described what = describe(Collective::kBcast, comm);
  what.operation.root = root;
  what.operation.output = side_of(buffer, count, type);
  return what;
}

Described gathered(const Side& input, const Side& output, bool irregular, int root,
                   Communicator& comm) noexcept {
  Described what = describe(Collective::kGather, comm);
  Operation& operation = what.operation;
  operation.root = root;
  operation.irregular = irregular;
  const bool sends = is_leaf(comm, root);
  operation.in_place = sends && input.address == MPI_IN_PLACE;
  if (sends && !operation.in_place) operation.input = input;
  if (!is_root(comm, root) && operation.in_place)
    what.code =
        fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE on rank %d; only the root, %d, may say so",
             comm.rank(), root);
  if (!is_root(comm, root)) return what;
  operation.output = output;
  check_blocks(&what, output, "recvcounts", "displs");
  return agreed(what, 0, root);
}

Described gather_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    MPI_Count recvcount, Datatype& recvtype, int root,
                    Communicator& comm) noexcept {
  return gathered(side_of(sendbuf, sendcount, sendtype), side_of(recvbuf, recvcount, recvtype),
                  false, root, comm);
}

Described gatherv_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                     const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                     int root, Communicator& comm) noexcept {
  return gathered(side_of(sendbuf, sendcount, sendtype),
                  side_of(recvbuf, recvcounts, displs, recvtype), true, root, comm);
}

Described scattered(const Side& input, const Side& output, bool irregular, int root,
                    Communicator& comm) noexcept {
  Described what = describe(Collective::kScatter, comm);
  Operation& operation = what.operation;
  operation.root = root;
  operation.irregular = irregular;
  const bool receives = is_leaf(comm, root);
  operation.in_place = receives && output.address == MPI_IN_PLACE;
  if (receives && !operation.in_place) operation.output = output;
  if (!is_root(comm, root) && operation.in_place)
    what.code =
        fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE on rank %d; only the root, %d, may say so",
             comm.rank(), root);
  if (!is_root(comm, root)) return what;
  operation.input = input;
  check_blocks(&what, input, "sendcounts", "displs");
  return agreed(what, root, 0);
}

Described scatter_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                     MPI_Count recvcount, Datatype& recvtype, int root,
                     Communicator& comm) noexcept {
  return scattered(side_of(sendbuf, sendcount, sendtype), side_of(recvbuf, recvcount, recvtype),
                   false, root, comm);
}

Described scatterv_of(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
                      Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                      int root, Communicator& comm) noexcept {
  return scattered(side_of(sendbuf, sendcounts, displs, sendtype),
                   side_of(recvbuf, recvcount, recvtype), true, root, comm);
}

Described exchanged(Collective collective, const Side& input, const Side& output, bool irregular,
                    Communicator& comm) noexcept {
  Described what = describe(collective, comm);
  Operation& operation = what.operation;
  operation.irregular = irregular;
  operation.in_place = input.address == MPI_IN_PLACE;
  if (!operation.in_place) operation.input = input;
  operation.output = output;
  const bool gathers = collective == Collective::kAllgather;
  if (!operation.in_place && !gathers) check_blocks(&what, input, "sendcounts", "sdispls");
  check_blocks(&what, output, "recvcounts", gathers ? "displs" : "rdispls");
  return agreed(what, gathers ? 0 : comm.rank(), comm.rank());
}

Described allgather_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return exchanged(Collective::kAllgather, side_of(sendbuf, sendcount, sendtype),
                   side_of(recvbuf, recvcount, recvtype), false, comm);
}

Described allgatherv_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                        Communicator& comm) noexcept {
  return exchanged(Collective::kAllgather, side_of(sendbuf, sendcount, sendtype),
                   side_of(recvbuf, recvcounts, displs, recvtype), true, comm);
}

Described alltoall_of(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return exchanged(Collective::kAlltoall, side_of(sendbuf, sendcount, sendtype),
                   side_of(recvbuf, recvcount, recvtype), false, comm);
}

Described alltoallv_of(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm) noexcept {
  return exchanged(Collective::kAlltoall, side_of(sendbuf, sendcounts, sdispls, sendtype),
                   side_of(recvbuf, recvcounts, rdispls, recvtype), true, comm);
}

}  // namespace

int barrier(Communicator& comm) noexcept { return run(barrier_of(comm)); }

int barrier_enqueue(Communicator& comm) noexcept {
  return enqueue(barrier_of(comm), "MPIX_Barrier_enqueue");
}

int ibarrier(Communicator& comm, MPI_Request* request) noexcept {
  return begin(barrier_of(comm), request);
}

int barrier_init(Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(barrier_of(comm), request);
}

int bcast(void* buffer, MPI_Count count, Datatype& datatype, int root,
          Communicator& comm) noexcept {
  return run(bcast_of(buffer, count, datatype, root, comm));
}

int bcast_enqueue(void* buffer, MPI_Count count, Datatype& datatype, int root,
                  Communicator& comm) noexcept {
  return enqueue(bcast_of(buffer, count, datatype, root, comm), "MPIX_Bcast_enqueue");
}

int ibcast(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
           MPI_Request* request) noexcept {
  return begin(bcast_of(buffer, count, datatype, root, comm), request);
}

int bcast_init(void* buffer, MPI_Count count, Datatype& datatype, int root, Communicator& comm,
               core::Info*, MPI_Request* request) noexcept {
  return plan(bcast_of(buffer, count, datatype, root, comm), request);
}

int gather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
           MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) noexcept {
  return run(gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));
}

int gather_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) noexcept {
  return enqueue(gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
                 "MPIX_Gather_enqueue");
}

int igather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
            MPI_Request* request) noexcept {
  return begin(gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
               request);
}

int gather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, core::Info*,
                MPI_Request* request) noexcept {
  return plan(gather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
              request);
}

int gatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype, int root,
            Communicator& comm) noexcept {
  return run(
      gatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm));
}

int gatherv_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                    int root, Communicator& comm) noexcept {
  return enqueue(
      gatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      "MPIX_Gatherv_enqueue");
}

int igatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype, int root,
             Communicator& comm, MPI_Request* request) noexcept {
  return begin(
      gatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      request);
}

int gatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype, int root,
                 Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(
      gatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
      request);
}

int scatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm) noexcept {
  return run(scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));
}

int scatter_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    MPI_Count recvcount, Datatype& recvtype, int root,
                    Communicator& comm) noexcept {
  return enqueue(scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
                 "MPIX_Scatter_enqueue");
}

int iscatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
             MPI_Request* request) noexcept {
  return begin(scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
               request);
}

int scatter_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                 MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm, core::Info*,
                 MPI_Request* request) noexcept {
  return plan(scatter_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
              request);
}

int scatterv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
             Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root,
             Communicator& comm) noexcept {
  return run(
      scatterv_of(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm));
}

int scatterv_enqueue(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
                     Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                     int root, Communicator& comm) noexcept {
  return enqueue(
      scatterv_of(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
      "MPIX_Scatterv_enqueue");
}

int iscatterv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
              Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root,
              Communicator& comm, MPI_Request* request) noexcept {
  return begin(
      scatterv_of(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
      request);
}

int scatterv_init(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
                  Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                  int root, Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(
      scatterv_of(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),
      request);
}

int allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return run(allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
}

int allgather_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return enqueue(allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
                 "MPIX_Allgather_enqueue");
}

int iallgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
               MPI_Request* request) noexcept {
  return begin(allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
               request);
}

int allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                   MPI_Count recvcount, Datatype& recvtype, Communicator& comm, core::Info*,
                   MPI_Request* request) noexcept {
  return plan(allgather_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
              request);
}

int allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
               Communicator& comm) noexcept {
  return run(
      allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm));
}

int allgatherv_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                       Communicator& comm) noexcept {
  return enqueue(
      allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      "MPIX_Allgatherv_enqueue");
}

int iallgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                Communicator& comm, MPI_Request* request) noexcept {
  return begin(
      allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      request);
}

int allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                    const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                    Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return plan(
      allgatherv_of(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
      request);
}

int alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return run(alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
}

int alltoall_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                     MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return enqueue(alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
                 "MPIX_Alltoall_enqueue");
}

int ialltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
              MPI_Request* request) noexcept {
  return begin(alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
               request);
}

int alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                  MPI_Count recvcount, Datatype& recvtype, Communicator& comm, core::Info*,
                  MPI_Request* request) noexcept {
  return plan(alltoall_of(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),
              request);
}

int alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
              Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
              const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm) noexcept {
  return run(alltoallv_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                          recvtype, comm));
}

int alltoallv_enqueue(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                      Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                      const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm) noexcept {
  return enqueue(alltoallv_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                              recvtype, comm),
                 "MPIX_Alltoallv_enqueue");
}

int ialltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
               Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
               const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm,
               MPI_Request* request) noexcept {
  return begin(alltoallv_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                            recvtype, comm),
               request);
}

int alltoallv_init(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                   Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                   const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm, core::Info*,
                   MPI_Request* request) noexcept {
  return plan(alltoallv_of(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                           recvtype, comm),
              request);
}

}  // namespace tern::api
