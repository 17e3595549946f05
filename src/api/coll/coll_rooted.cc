// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "collective communication": what goes from one rank to all, or from all to
// one, but for reductions (coll_reduce.cc). Each operation is described once; its forms start the
// description. See: MPI-5.0 sections 6.4 to 6.6.
#include "api/coll/coll.hpp"

#include "api/bodies.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

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

}  // namespace

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

}  // namespace tern::api
