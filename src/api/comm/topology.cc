// SPDX-License-Identifier: Apache-2.0
// Common parts of grids and graphs (MPI-5.0 chapter 8), and MPI_Dims_create.
#include "api/comm/topology.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/job/runtime.hpp"
#include "boot/boot.hpp"

namespace tern::api {

namespace {

using core::Communicator;

int wrong_kind(const Communicator& comm, const char* wanted) noexcept {
  const char* const has = comm.topology == nullptr                ? "no topology"
                          : comm.topology->cartesian() != nullptr ? "a Cartesian topology"
                          : comm.topology->graph() != nullptr     ? "a graph topology"
                                                                  : "a distributed graph topology";
  return fail(MPI_ERR_TOPOLOGY, "%s has %s, but %s is needed", comm.name.or_words("comm").c_str(),
              has, wanted);
}

}  // namespace

const core::Cartesian* cartesian_of(const Communicator& comm) noexcept {
  const core::Cartesian* found = comm.topology ? comm.topology->cartesian() : nullptr;
  if (found == nullptr) (void)wrong_kind(comm, "a Cartesian topology");
  return found;
}

const core::Graph* graph_of(const Communicator& comm) noexcept {
  const core::Graph* found = comm.topology ? comm.topology->graph() : nullptr;
  if (found == nullptr) (void)wrong_kind(comm, "a graph topology");
  return found;
}

const core::Edges* edges_of(const Communicator& comm) noexcept {
  const core::Edges* found = comm.topology ? comm.topology->edges() : nullptr;
  if (found == nullptr) (void)wrong_kind(comm, "a distributed graph topology");
  return found;
}

std::vector<int> nodes_of(const Communicator& comm, int ranks) {
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank)
    nodes.push_back(node_of(comm.process(), comm.peer(rank)));
  return nodes;
}

int rank_in(const core::Placement& order, int old_rank) noexcept {
  const auto found = std::find(order.begin(), order.end(), old_rank);
  return found == order.end() ? MPI_UNDEFINED : static_cast<int>(found - order.begin());
}

core::Placement in_order(int ranks) {
  core::Placement order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int publish_shaped(Communicator& parent, const core::Placement& order, core::Topology::Shape shape,
                   const core::Info* info, MPI_Comm* out) {
  const uint64_t number = parent.next_derivation();
  *out = MPI_COMM_NULL;
  if (const int revoked = require_unrevoked(parent); revoked != MPI_SUCCESS) return revoked;
  const int rank = rank_in(order, parent.rank());
  if (rank == MPI_UNDEFINED) return MPI_SUCCESS;
  core::GroupBuilder members;
  for (const int old_rank : order) members.add(parent.group().peer_index(old_rank));
  const auto id = core::derive_context(parent.id(), core::Derivation::kTopology, number, 0);
  auto made = core::derive_communicator(parent, members.finish(), id);
  made->topology = std::make_shared<const core::Topology>(std::move(shape), rank);
  const int code = set_hints(*made, info);
  if (code == MPI_SUCCESS) publish(std::move(made), out);
  return code;
}

int topo_test(Communicator& comm, int* status) noexcept {
  *status = comm.topology ? comm.topology->kind() : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int dims_create(int nnodes, int ndims, int* dims) noexcept {
  if (ndims < 0) return fail(MPI_ERR_DIMS, "ndims is %d, but must not be negative", ndims);
  if (nnodes < 1) return fail(MPI_ERR_ARG, "nnodes is %d, but must be positive", nnodes);
  if (ndims > 0 && dims == nullptr) return fail(MPI_ERR_ARG, "dims is a null pointer");
  long long fixed = 1;
  int open = 0;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 0)
      return fail(MPI_ERR_DIMS, "dims[%d] is %d, but must be positive, or 0 for a free choice", i,
                  dims[i]);
    open += dims[i] == 0 ? 1 : 0;
    if (dims[i] > 0) fixed = std::min<long long>(fixed * dims[i], 1LL << 32);
  }
  if (ndims == 0 && nnodes == 1) return MPI_SUCCESS;
  if (nnodes % fixed != 0 || (open == 0 && fixed != nnodes))
    return fail(MPI_ERR_DIMS, "nnodes is %d, but the given dimensions make %lld%s", nnodes, fixed,
                open == 0 ? "" : ", not a divisor of nnodes");
  if (open == 0) return MPI_SUCCESS;
  return attempt([&] {
    const std::vector<int> found = core::balanced_dims(nnodes / static_cast<int>(fixed), open);
    auto next = found.begin();
    for (int i = 0; i < ndims; ++i)
      if (dims[i] == 0) dims[i] = *next++;
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api
