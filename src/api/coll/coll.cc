// SPDX-License-Identifier: Apache-2.0
// The bodies of MPI_Barrier, MPI_Allgather, MPI_Allgatherv, MPI_Alltoall and MPI_Alltoallv
// (MPI-5.0 chapter 6).
#include "api/coll/coll.hpp"

#include "api/bodies.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

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

}  // namespace

int barrier(Communicator& comm, Form form) noexcept {
  return start(describe(Collective::kBarrier, comm), form);
}

int allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
              MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Form form) noexcept {
  return start(exchanged(Collective::kAllgather, side_of(sendbuf, sendcount, sendtype),
                         side_of(recvbuf, recvcount, recvtype), false, comm),
               form);
}

int allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
               const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
               Communicator& comm, Form form) noexcept {
  return start(exchanged(Collective::kAllgather, side_of(sendbuf, sendcount, sendtype),
                         side_of(recvbuf, recvcounts, displs, recvtype), true, comm),
               form);
}

int alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
             MPI_Count recvcount, Datatype& recvtype, Communicator& comm, Form form) noexcept {
  return start(exchanged(Collective::kAlltoall, side_of(sendbuf, sendcount, sendtype),
                         side_of(recvbuf, recvcount, recvtype), false, comm),
               form);
}

int alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
              Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
              const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm, Form form) noexcept {
  return start(exchanged(Collective::kAlltoall, side_of(sendbuf, sendcounts, sdispls, sendtype),
                         side_of(recvbuf, recvcounts, rdispls, recvtype), true, comm),
               form);
}

}  // namespace tern::api
