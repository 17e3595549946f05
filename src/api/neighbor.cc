// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "neighbor": MPI-5.0 section 8.6 to 8.8. Each operation is described once;
// its three forms start the description.
#include "api/neighbor.hpp"

#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "core/datatype.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using core::Datatype;

/// Where the data for the neighbours is: `stride` or `displs` in elements, or `bytes`.
struct Parts {
  void* address = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;
  MPI_Count stride = 0;               // elements between the parts
  const MPI_Count* counts = nullptr;  // where they differ
  const MPI_Aint* displs = nullptr;
  const MPI_Datatype* types = nullptr;  // where these differ: displs are bytes
};

/// What stands in a call for one side, so that an error names it.
struct Names {
  const char *buffer, *counts, *displs, *types;
};
constexpr Names kSend = {"sendbuf", "sendcounts", "sdispls", "sendtypes"};
constexpr Names kReceive = {"recvbuf", "recvcounts", "rdispls", "recvtypes"};

int check(const Parts& parts, size_t neighbors, const Names& names) {
  if (parts.address == MPI_IN_PLACE)
    return fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which neighbourhood collectives do not have",
                names.buffer);
  if (parts.counts == nullptr && parts.displs == nullptr && parts.type != nullptr)
    return MPI_SUCCESS;
  if (neighbors == 0) return MPI_SUCCESS;
  if (parts.counts == nullptr || parts.displs == nullptr)
    return fail(MPI_ERR_ARG, "%s is a null pointer, but there are %zu neighbours",
                parts.counts == nullptr ? names.counts : names.displs, neighbors);
  if (parts.type == nullptr && parts.types == nullptr)
    return fail(MPI_ERR_ARG, "%s is a null pointer, but there are %zu neighbours", names.types,
                neighbors);
  for (size_t i = 0; i < neighbors; ++i)
    if (parts.counts[i] < 0)
      return fail(MPI_ERR_COUNT, "%s[%zu] is %lld; a count must not be negative", names.counts, i,
                  static_cast<long long>(parts.counts[i]));
  return MPI_SUCCESS;
}

int check_types(const Parts& parts, size_t neighbors, const Names& names) {
  for (size_t i = 0; i < neighbors && parts.types != nullptr; ++i) {
    const auto* type = the_process->handles.find<Datatype>(parts.types[i]);
    if (type == nullptr) return fail(MPI_ERR_TYPE, "%s[%zu] is no datatype", names.types, i);
    if (!type->committed())
      return fail(MPI_ERR_TYPE, "%s[%zu] is not committed; MPI_Type_commit does that", names.types,
                  i);
  }
  return MPI_SUCCESS;
}

/// One neighbour's part.
pml::Buffer part(const Parts& parts, size_t i) {
  Datatype* type =
      parts.types == nullptr ? parts.type : the_process->handles.find<Datatype>(parts.types[i]);
  const MPI_Count count = parts.counts == nullptr ? parts.count : parts.counts[i];
  const MPI_Count steps =
      parts.displs == nullptr ? static_cast<MPI_Count>(i) * parts.stride : parts.displs[i];
  const MPI_Count bytes = parts.types == nullptr ? steps * type->extent() : steps;
  // Integers: a null address with displacements in it is legal (MPI_BOTTOM).
  const auto address = reinterpret_cast<uintptr_t>(parts.address) + static_cast<uintptr_t>(bytes);
  return {reinterpret_cast<void*>(address), count, type};
}

Neighborhood describe(Communicator& comm, const Parts& out, const Parts& in) {
  Neighborhood what(comm);
  const size_t destinations = what.destinations(), sources = what.sources();
  int code = what.code();
  if (code == MPI_SUCCESS) code = check(out, destinations, kSend);
  if (code == MPI_SUCCESS) code = check(in, sources, kReceive);
  if (code == MPI_SUCCESS) code = check_types(out, destinations, kSend);
  if (code == MPI_SUCCESS) code = check_types(in, sources, kReceive);
  what.refuse(code);
  if (code != MPI_SUCCESS) return what;
  for (size_t i = 0; i < sources; ++i) what.receive(part(in, i));
  for (size_t i = 0; i < destinations; ++i) what.send(part(out, i));
  return what;
}

Parts same(const void* buffer, MPI_Count count, Datatype& type) {
  return {const_cast<void*>(buffer), count, &type};
}
Parts regular(const void* buffer, MPI_Count count, Datatype& type) {
  return {const_cast<void*>(buffer), count, &type, count};
}
Parts varying(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs, Datatype& type) {
  return {const_cast<void*>(buffer), 0, &type, 0, counts, displs};
}
Parts typed(const void* buffer, const MPI_Count* counts, const MPI_Aint* displs,
            const MPI_Datatype* types) {
  return {const_cast<void*>(buffer), 0, nullptr, 0, counts, displs, types};
}

}  // namespace

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt([&] {
    return run(
        describe(comm, same(sendbuf, sendcount, sendtype), regular(recvbuf, recvcount, recvtype)));
  });
}

int ineighbor_allgather(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt([&] {
    return begin(
        describe(comm, same(sendbuf, sendcount, sendtype), regular(recvbuf, recvcount, recvtype)),
        request);
  });
}

int neighbor_allgather_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                            void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                            Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return attempt([&] {
    return plan(
        describe(comm, same(sendbuf, sendcount, sendtype), regular(recvbuf, recvcount, recvtype)),
        request);
  });
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                        const MPI_Count* recvcounts, const MPI_Aint* displs, Datatype& recvtype,
                        Communicator& comm) noexcept {
  return attempt([&] {
    return run(describe(comm, same(sendbuf, sendcount, sendtype),
                        varying(recvbuf, recvcounts, displs, recvtype)));
  });
}

int ineighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                         void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* displs,
                         Datatype& recvtype, Communicator& comm, MPI_Request* request) noexcept {
  return attempt([&] {
    return begin(describe(comm, same(sendbuf, sendcount, sendtype),
                          varying(recvbuf, recvcounts, displs, recvtype)),
                 request);
  });
}

int neighbor_allgatherv_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                             void* recvbuf, const MPI_Count* recvcounts, const MPI_Aint* displs,
                             Datatype& recvtype, Communicator& comm, core::Info*,
                             MPI_Request* request) noexcept {
  return attempt([&] {
    return plan(describe(comm, same(sendbuf, sendcount, sendtype),
                         varying(recvbuf, recvcounts, displs, recvtype)),
                request);
  });
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                      MPI_Count recvcount, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt([&] {
    return run(describe(comm, regular(sendbuf, sendcount, sendtype),
                        regular(recvbuf, recvcount, recvtype)));
  });
}

int ineighbor_alltoall(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype, void* recvbuf,
                       MPI_Count recvcount, Datatype& recvtype, Communicator& comm,
                       MPI_Request* request) noexcept {
  return attempt([&] {
    return begin(describe(comm, regular(sendbuf, sendcount, sendtype),
                          regular(recvbuf, recvcount, recvtype)),
                 request);
  });
}

int neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, Datatype& sendtype,
                           void* recvbuf, MPI_Count recvcount, Datatype& recvtype,
                           Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return attempt([&] {
    return plan(describe(comm, regular(sendbuf, sendcount, sendtype),
                         regular(recvbuf, recvcount, recvtype)),
                request);
  });
}

int neighbor_alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm) noexcept {
  return attempt([&] {
    return run(describe(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                        varying(recvbuf, recvcounts, rdispls, recvtype)));
  });
}

int ineighbor_alltoallv(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                        Datatype& sendtype, void* recvbuf, const MPI_Count* recvcounts,
                        const MPI_Aint* rdispls, Datatype& recvtype, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt([&] {
    return begin(describe(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                          varying(recvbuf, recvcounts, rdispls, recvtype)),
                 request);
  });
}

int neighbor_alltoallv_init(const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, Datatype& sendtype, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            Datatype& recvtype, Communicator& comm, core::Info*,
                            MPI_Request* request) noexcept {
  return attempt([&] {
    return plan(describe(comm, varying(sendbuf, sendcounts, sdispls, sendtype),
                         varying(recvbuf, recvcounts, rdispls, recvtype)),
                request);
  });
}

int neighbor_alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                       const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                       const MPI_Aint* rdispls, const MPI_Datatype* recvtypes,
                       Communicator& comm) noexcept {
  return attempt([&] {
    return run(describe(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                        typed(recvbuf, recvcounts, rdispls, recvtypes)));
  });
}

int ineighbor_alltoallw(const void* sendbuf, const MPI_Count* sendcounts, const MPI_Aint* sdispls,
                        const MPI_Datatype* sendtypes, void* recvbuf, const MPI_Count* recvcounts,
                        const MPI_Aint* rdispls, const MPI_Datatype* recvtypes, Communicator& comm,
                        MPI_Request* request) noexcept {
  return attempt([&] {
    return begin(describe(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                          typed(recvbuf, recvcounts, rdispls, recvtypes)),
                 request);
  });
}

int neighbor_alltoallw_init(const void* sendbuf, const MPI_Count* sendcounts,
                            const MPI_Aint* sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                            const MPI_Count* recvcounts, const MPI_Aint* rdispls,
                            const MPI_Datatype* recvtypes, Communicator& comm, core::Info*,
                            MPI_Request* request) noexcept {
  return attempt([&] {
    return plan(describe(comm, typed(sendbuf, sendcounts, sdispls, sendtypes),
                         typed(recvbuf, recvcounts, rdispls, recvtypes)),
                request);
  });
}

}  // namespace tern::api
