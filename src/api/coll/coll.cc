// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "collective communication": what goes from all to all, and the
// barrier. Each operation is described once; its forms start that description (coll_describe.cc).
// See: MPI-5.0 chapter 6.
#include "api/coll/coll.hpp"

#include "api/bodies.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

Described barrier_of(Communicator& comm) noexcept { return describe(Collective::kBarrier, comm); }

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
