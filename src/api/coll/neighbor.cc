// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "neighbor": MPI-5.0 sections 8.6 to 8.8.
#include <vector>

#include "api/bodies.hpp"
#include "api/coll/coll.hpp"
#include "api/process.hpp"
#include "api/refused_call.hpp"
#include "core/topology.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Side;
using core::Communicator;
using core::Datatype;

/// `varies`: a block per neighbour; `types`: a type per neighbour.
struct NeighborBlocks {
  Side side;
  bool varies = false;
  const MPI_Datatype* types = nullptr;
};

struct BlockNames {
  const char *buffer, *counts, *displs, *types;
};
constexpr BlockNames kSend = {"sendbuf", "sendcounts", "sdispls", "sendtypes"};
constexpr BlockNames kReceive = {"recvbuf", "recvcounts", "rdispls", "recvtypes"};

struct Neighborhood {
  Described what;
  std::vector<Datatype*> send_types, receive_types;

  Neighborhood(Collective collective, Communicator& comm, const NeighborBlocks& out,
               const NeighborBlocks& in)
      : what(describe(collective, comm)) {
    if (comm.topology == nullptr) {
      what.code =
          fail(MPI_ERR_TOPOLOGY, "%s has no topology; create a communicator with a topology first",
               comm.name.or_words("comm").c_str());
      return;
    }
    what.operation.irregular = in.varies;
    take(out, comm.topology->destinations().size(), kSend, &send_types, &what.operation.input);
    take(in, comm.topology->sources().size(), kReceive, &receive_types, &what.operation.output);
  }

 private:
  void take(const NeighborBlocks& part, size_t neighbors, const BlockNames& names,
            std::vector<Datatype*>* types, Side* side) {
    if (what.code != MPI_SUCCESS) return;
    *side = part.side;
    if (part.side.address == MPI_IN_PLACE)
      what.code =
          fail(MPI_ERR_BUFFER,
               "%s is MPI_IN_PLACE, but neighbourhood collectives do not allow MPI_IN_PLACE",
               names.buffer);
    if (what.code != MPI_SUCCESS || !part.varies || neighbors == 0) return;
    what.code = check_counts(*side, static_cast<int>(neighbors), names.counts, names.displs);
    if (what.code != MPI_SUCCESS || side->type != nullptr) return;
    what.code =
        find_types(part.types, side->counts, static_cast<int>(neighbors), names.types, types);
    side->types = types->data();
  }
};

NeighborBlocks same(const void* buffer, MPI_Count count, Datatype& type) {
  return {{const_cast<void*>(buffer), count, &type}};
}
NeighborBlocks varying(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
                       Datatype& type) {
  return {{const_cast<void*>(buffer), 0, &type, counts, displs}, true};
}
NeighborBlocks typed(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
                     const MPI_Datatype* types) {
  return {{const_cast<void*>(buffer), 0, nullptr, counts, displs}, true, types};
}

int begin(Collective collective, Communicator& comm, Form form, const NeighborBlocks& out,
          const NeighborBlocks& in) noexcept {
  return attempt(comm, form.part(),
                 [&] { return start(Neighborhood(collective, comm, out, in).what, form); });
}

}  // namespace

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                       Form form) noexcept {
  return begin(Collective::kNeighborAllgather, comm, form, same(sendbuf, sendcount, sendtype),
               same(recvbuf, recvcount, recvtype));
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                        Communicator& comm, Form form) noexcept {
  return begin(Collective::kNeighborAllgather, comm, form, same(sendbuf, sendcount, sendtype),
               varying(recvbuf, recvcounts, displs, recvtype));
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                      Form form) noexcept {
  return begin(Collective::kNeighborAlltoall, comm, form, same(sendbuf, sendcount, sendtype),
               same(recvbuf, recvcount, recvtype));
}

int neighbor_alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm,
                       Form form) noexcept {
  return begin(Collective::kNeighborAlltoall, comm, form,
               varying(sendbuf, sendcounts, sdispls, sendtype),
               varying(recvbuf, recvcounts, rdispls, recvtype));
}

int neighbor_alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, Communicator& comm,
                       Form form) noexcept {
  return begin(Collective::kNeighborAlltoall, comm, form,
               typed(sendbuf, sendcounts, sdispls, sendtypes),
               typed(recvbuf, recvcounts, rdispls, recvtypes));
}

}  // namespace tern::api
