// SPDX-License-Identifier: Apache-2.0
// Cartesian topologies: MPI-5.0 sections 8.5.1, 8.5.5 to 8.5.8.
#include <algorithm>
#include <climits>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/topology.hpp"

namespace tern::api {

namespace {

using core::Cartesian;
using core::Communicator;

int read_grid(const Communicator& comm, int ndims, const int* dims, const int* periods,
              Cartesian* grid) {
  if (ndims < 0) return fail(MPI_ERR_DIMS, "ndims is %d, but must not be negative", ndims);
  long long ranks = 1;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] <= 0)
      return fail(MPI_ERR_DIMS, "dims[%d] is %d; each dimension must be positive", i, dims[i]);
    ranks *= dims[i];
    if (ranks > comm.size())
      return fail(MPI_ERR_DIMS, "dims[0] to dims[%d] make %lld ranks, but the communicator has %d",
                  i, ranks, comm.size());
    grid->dims.push_back(dims[i]);
    grid->periods.push_back(periods[i] != 0);
  }
  return MPI_SUCCESS;
}

core::Placement placement(const Communicator& comm, const Cartesian& grid, bool reorder) {
  const int ranks = grid.size();
  return reorder ? core::place(grid, nodes_of(comm, ranks)) : in_order(ranks);
}

int check_room(const char* what, int room, size_t needed) {
  if (room >= 0 && static_cast<size_t>(room) >= needed) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "%s is %d, but the grid has %zu dimensions", what, room, needed);
}

}  // namespace

int cart_create(Communicator& comm_old, int ndims, const int* dims, const int* periods, int reorder,
                MPI_Comm* comm_cart) noexcept {
  return attempt([&] {
    Cartesian grid;
    int code = require_intra(comm_old, "comm_old");
    if (code == MPI_SUCCESS) code = read_grid(comm_old, ndims, dims, periods, &grid);
    if (code != MPI_SUCCESS) return without(comm_old, code);
    const core::Placement order = placement(comm_old, grid, reorder != 0);
    return publish_shaped(comm_old, order, std::move(grid), nullptr, comm_cart);
  });
}

int cart_map(Communicator& comm, int ndims, const int* dims, const int* periods,
             int* newrank) noexcept {
  return attempt([&] {
    Cartesian grid;
    int code = require_intra(comm, "comm");
    if (code == MPI_SUCCESS) code = read_grid(comm, ndims, dims, periods, &grid);
    if (code == MPI_SUCCESS) *newrank = rank_in(placement(comm, grid, true), comm.rank());
    return code;
  });
}

int cartdim_get(Communicator& comm, int* ndims) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  *ndims = static_cast<int>(grid->dimensions());
  return MPI_SUCCESS;
}

int cart_get(Communicator& comm, int maxdims, int* dims, int* periods, int* coords) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  const int code = check_room("maxdims", maxdims, grid->dimensions());
  if (code != MPI_SUCCESS) return code;
  std::copy(grid->dims.begin(), grid->dims.end(), dims);
  std::copy(grid->periods.begin(), grid->periods.end(), periods);
  grid->coords_of(comm.rank(), coords);
  return MPI_SUCCESS;
}

int cart_rank(Communicator& comm, const int* coords, int* rank) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  if (coords == nullptr && grid->dimensions() > 0)
    return fail(MPI_ERR_ARG, "coords is a null pointer");
  const int found = grid->rank_at(coords);
  if (found >= 0) {
    *rank = found;
    return MPI_SUCCESS;
  }
  const int dimension = -1 - found;
  return fail(MPI_ERR_ARG, "coords[%d] is %d, but this dimension has 0..%d and is not periodic",
              dimension, coords[dimension], grid->dims[static_cast<size_t>(dimension)] - 1);
}

int cart_coords(Communicator& comm, int rank, int maxdims, int* coords) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  const int code = check_room("maxdims", maxdims, grid->dimensions());
  if (code == MPI_SUCCESS) grid->coords_of(rank, coords);
  return code;
}

int cart_shift(Communicator& comm, int direction, int disp, int* rank_source,
               int* rank_dest) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  const auto dimensions = static_cast<int>(grid->dimensions());
  if (direction < 0 || direction >= dimensions)
    return fail(MPI_ERR_DIMS, "direction is %d, but the grid has %d dimensions", direction,
                dimensions);
  const auto dimension = static_cast<size_t>(direction);
  const long long steps = disp;
  *rank_source = grid->shifted(comm.rank(), dimension, -steps);
  *rank_dest = grid->shifted(comm.rank(), dimension, steps);
  return MPI_SUCCESS;
}

namespace {

struct SubGrid {
  core::Placement members;
  Cartesian grid;
  uint64_t first = 0;
};

SubGrid part_of(const Cartesian& grid, int rank, const int* remain) {
  SubGrid part;
  std::vector<int> mine(grid.dimensions()), other(grid.dimensions());
  grid.coords_of(rank, mine.data());
  for (size_t i = 0; i < grid.dimensions(); ++i) {
    if (remain[i] == 0) continue;
    part.grid.dims.push_back(grid.dims[i]);
    part.grid.periods.push_back(grid.periods[i]);
  }
  std::vector<int> inside(part.grid.dimensions());
  for (int member = 0; member < part.grid.size(); ++member) {
    part.grid.coords_of(member, inside.data());
    other = mine;
    for (size_t i = 0, next = 0; i < grid.dimensions(); ++i)
      if (remain[i] != 0) other[i] = inside[next++];
    part.members.push_back(grid.rank_at(other.data()));
  }
  part.first = static_cast<uint64_t>(part.members.front());
  return part;
}

}  // namespace

int cart_sub(Communicator& comm, const int* remain_dims, MPI_Comm* newcomm) noexcept {
  const Cartesian* grid = cartesian_of(comm);
  if (grid == nullptr) return MPI_ERR_TOPOLOGY;
  if (remain_dims == nullptr && grid->dimensions() > 0)
    return without(comm, fail(MPI_ERR_ARG, "remain_dims is a null pointer"));
  return attempt([&] {
    SubGrid part = part_of(*grid, comm.rank(), remain_dims);
    core::GroupBuilder members;
    for (const int member : part.members) members.add(comm.group().peer_index(member));
    const auto id =
        core::derive_context(comm.id(), core::Derivation::kSub, comm.next_derivation(), part.first);
    if (const int revoked = require_unrevoked(comm); revoked != MPI_SUCCESS) return revoked;
    auto made = core::derive_communicator(comm, members.finish(), id);
    made->topology = std::make_shared<const core::Topology>(std::move(part.grid), made->rank());
    publish(std::move(made), newcomm);
    return MPI_SUCCESS;
  });
}

}  // namespace tern::api
