// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "neighbor": MPI-5.0 section 8.6 to 8.8. Each operation is described once;
// its three forms start the description.
#include <vector>

#include "api/bodies.hpp"
#include "api/coll/coll.hpp"
#include "api/excuse.hpp"
#include "api/process.hpp"
#include "core/topology.hpp"

namespace tern::api {
namespace {

using coll::Collective;
using coll::Side;
using core::Communicator;
using core::Datatype;

/// One side of a call: with `varies` each neighbour has its part; with `types` its type, too.
struct Blocks {
  Side side;
  bool varies = false;
  const MPI_Datatype* types = nullptr;
};

/// What stands in a call for one side, so that an error names it.
struct BlockNames {
  const char *buffer, *counts, *displs, *types;
};
constexpr BlockNames kSend = {"sendbuf", "sendcounts", "sdispls", "sendtypes"};
constexpr BlockNames kReceive = {"recvbuf", "recvcounts", "rdispls", "recvtypes"};

/// The description, and the arrays that it points to.
struct Neighborhood {
  Described what;
  std::vector<Datatype*> send_types, receive_types;

  Neighborhood(Collective collective, Communicator& comm, const Blocks& out, const Blocks& in)
      : what(describe(collective, comm)) {
    if (comm.topology == nullptr) {
      what.code = fail(MPI_ERR_TOPOLOGY, "%s has no topology, so it has no neighbourhoods",
                       comm.name.or_words("comm").c_str());
      return;
    }
    what.operation.irregular = in.varies;
    take(out, comm.topology->destinations().size(), kSend, &send_types, &what.operation.input);
    take(in, comm.topology->sources().size(), kReceive, &receive_types, &what.operation.output);
  }

 private:
  void take(const Blocks& part, size_t neighbors, const BlockNames& names,
            std::vector<Datatype*>* types, Side* side) {
    if (what.code != MPI_SUCCESS) return;
    *side = part.side;
    if (part.side.address == MPI_IN_PLACE)
      what.code =
          fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which neighbourhood collectives do not have",
               names.buffer);
    if (what.code != MPI_SUCCESS || !part.varies || neighbors == 0) return;
    what.code = check_counts(*side, static_cast<int>(neighbors), names.counts, names.displs);
    if (what.code != MPI_SUCCESS || side->type != nullptr) return;
    what.code =
        find_types(part.types, side->counts, static_cast<int>(neighbors), names.types, types);
    side->types = types->data();
  }
};

Blocks same(const void* buffer, MPI_Count count, Datatype& type) {
  return {{const_cast<void*>(buffer), count, &type}};
}
Blocks varying(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
               Datatype& type) {
  return {{const_cast<void*>(buffer), 0, &type, counts, displs}, true};
}
Blocks typed(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
             const MPI_Datatype* types) {
  return {{const_cast<void*>(buffer), 0, nullptr, counts, displs}, true, types};
}

Neighborhood gathered(Communicator& comm, const Blocks& out, const Blocks& in) {
  return {Collective::kNeighborAllgather, comm, out, in};
}
Neighborhood exchanged(Communicator& comm, const Blocks& out, const Blocks& in) {
  return {Collective::kNeighborAlltoall, comm, out, in};
}

}  // namespace

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return run(
        gathered(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype))
            .what);
  });
}

int neighbor_allgather_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                               void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                               Communicator& comm) noexcept {
  return attempt(comm, Part::kEnqueued, [&] {
    return enqueue(
        gathered(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype)).what,
        "MPIX_Neighbor_allgather_enqueue");
  });
}

int ineighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return begin(
        gathered(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype)).what,
        request);
  });
}

int neighbor_allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                            void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                            Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return attempt(comm, Part::kPersistent, [&] {
    return plan(
        gathered(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype)).what,
        request);
  });
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                        Communicator& comm) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return run(gathered(comm, same(sendbuf, sendcount, sendtype),
                        varying(recvbuf, recvcounts, displs, recvtype))
                   .what);
  });
}

int neighbor_allgatherv_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                                void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* displs,
                                Datatype& recvtype, Communicator& comm) noexcept {
  return attempt(comm, Part::kEnqueued, [&] {
    return enqueue(gathered(comm, same(sendbuf, sendcount, sendtype),
                            varying(recvbuf, recvcounts, displs, recvtype))
                       .what,
                   "MPIX_Neighbor_allgatherv_enqueue");
  });
}

int ineighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                         void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* displs,
                         Datatype& recvtype, Communicator& comm, MPI_Request* request) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return begin(gathered(comm, same(sendbuf, sendcount, sendtype),
                          varying(recvbuf, recvcounts, displs, recvtype))
                     .what,
                 request);
  });
}

int neighbor_allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                             void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* displs,
                             Datatype& recvtype, Communicator& comm, core::Info*,
                             MPI_Request* request) noexcept {
  return attempt(comm, Part::kPersistent, [&] {
    return plan(gathered(comm, same(sendbuf, sendcount, sendtype),
                         varying(recvbuf, recvcounts, displs, recvtype))
                    .what,
                request);
  });
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return run(
        exchanged(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype))
            .what);
  });
}

int neighbor_alltoall_enqueue(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                              void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                              Communicator& comm) noexcept {
  return attempt(comm, Part::kEnqueued, [&] {
    return enqueue(
        exchanged(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype))
            .what,
        "MPIX_Neighbor_alltoall_enqueue");
  });
}

int ineighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                       MPI_Request* request) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return begin(
        exchanged(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype))
            .what,
        request);
  });
}

int neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                           void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                           Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return attempt(comm, Part::kPersistent, [&] {
    return plan(
        exchanged(comm, same(sendbuf, sendcount, sendtype), same(recvbuf, recvcount, recvtype))
            .what,
        request);
  });
}

int neighbor_alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return run(exchanged(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                         varying(recvbuf, recvcounts, rdispls, recvtype))
                   .what);
  });
}

int neighbor_alltoallv_enqueue(const void* sendbuf, const MPI_Count* sendcounts,
                               const MPI_Aint* sdispls, Datatype& sendtype, void* recvbuf,
                               const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                               Datatype& recvtype, Communicator& comm) noexcept {
  return attempt(comm, Part::kEnqueued, [&] {
    return enqueue(exchanged(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                             varying(recvbuf, recvcounts, rdispls, recvtype))
                       .what,
                   "MPIX_Neighbor_alltoallv_enqueue");
  });
}

int ineighbor_alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                        Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                        const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return begin(exchanged(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                           varying(recvbuf, recvcounts, rdispls, recvtype))
                     .what,
                 request);
  });
}

int neighbor_alltoallv_init(const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, Datatype& sendtype, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            Datatype& recvtype, Communicator& comm, core::Info*,
                            MPI_Request* request) noexcept {
  return attempt(comm, Part::kPersistent, [&] {
    return plan(exchanged(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                          varying(recvbuf, recvcounts, rdispls, recvtype))
                    .what,
                request);
  });
}

int neighbor_alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes,
                       Communicator& comm) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return run(exchanged(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                         typed(recvbuf, recvcounts, rdispls, recvtypes))
                   .what);
  });
}

int neighbor_alltoallw_enqueue(const void* sendbuf, const MPI_Count* sendcounts,
                               const MPI_Aint* sdispls, const MPI_Datatype* sendtypes,
                               void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                               const MPI_Datatype* recvtypes, Communicator& comm) noexcept {
  return attempt(comm, Part::kEnqueued, [&] {
    return enqueue(exchanged(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                             typed(recvbuf, recvcounts, rdispls, recvtypes))
                       .what,
                   "MPIX_Neighbor_alltoallw_enqueue");
  });
}

int ineighbor_alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                        const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt(comm, Part::kCollective, [&] {
    return begin(exchanged(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                           typed(recvbuf, recvcounts, rdispls, recvtypes))
                     .what,
                 request);
  });
}

int neighbor_alltoallw_init(const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            const MPI_Datatype* recvtypes, Communicator& comm, core::Info*,
                            MPI_Request* request) noexcept {
  return attempt(comm, Part::kPersistent, [&] {
    return plan(exchanged(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                          typed(recvbuf, recvcounts, rdispls, recvtypes))
                    .what,
                request);
  });
}

}  // namespace tern::api
