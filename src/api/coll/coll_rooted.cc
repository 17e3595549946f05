// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "collective communication" (MPI-5.0 sections 6.4 to 6.6): rooted
// operations except reductions.
#include "api/coll/coll.hpp"

#include "api/bodies.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;
using core::Communicator;
using core::Datatype;

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
        fail(MPI_ERR_BUFFER,
             "sendbuf is MPI_IN_PLACE on rank %d, but only the root, %d, may pass MPI_IN_PLACE",
             comm.rank(), root);
  if (!is_root(comm, root)) return what;
  operation.output = output;
  check_blocks(&what, output, "recvcounts", "displs");
  return agreed(what, 0, root);
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
        fail(MPI_ERR_BUFFER,
             "recvbuf is MPI_IN_PLACE on rank %d, but only the root, %d, may pass MPI_IN_PLACE",
             comm.rank(), root);
  if (!is_root(comm, root)) return what;
  operation.input = input;
  check_blocks(&what, input, "sendcounts", "displs");
  return agreed(what, root, 0);
}

}  // namespace

int bcast(void* buffer, MPI_Count count, Datatype& type, int root, Communicator& comm,
          Form form) noexcept {
  Described what = describe(Collective::kBcast, comm);
  what.operation.root = root;
  what.operation.output = side_of(buffer, count, type);
  return start(what, form);
}

int gather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
           MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
           Form form) noexcept {
  return start(gathered(side_of(sendbuf, sendcount, sendtype),
                        side_of(recvbuf, recvcount, recvtype), false, root, comm),
               form);
}

int gatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype, int root,
            Communicator& comm, Form form) noexcept {
  return start(gathered(side_of(sendbuf, sendcount, sendtype),
                        side_of(recvbuf, recvcounts, displs, recvtype), true, root, comm),
               form);
}

int scatter(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
            MPI_Count recvcount, Datatype& recvtype, int root, Communicator& comm,
            Form form) noexcept {
  return start(scattered(side_of(sendbuf, sendcount, sendtype),
                         side_of(recvbuf, recvcount, recvtype), false, root, comm),
               form);
}

int scatterv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* displs,
             Datatype& sendtype, void* recvbuf, MPI_Count recvcount, Datatype& recvtype, int root,
             Communicator& comm, Form form) noexcept {
  return start(scattered(side_of(sendbuf, sendcounts, displs, sendtype),
                         side_of(recvbuf, recvcount, recvtype), true, root, comm),
               form);
}

}  // namespace tern::api
