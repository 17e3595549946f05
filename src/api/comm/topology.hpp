// SPDX-License-Identifier: Apache-2.0
// What the functions of the chapter "topology" share.
#pragma once

#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "core/topology.hpp"
#include "core/topology_placement.hpp"
#include "mpi.h"

namespace tern::api {

/// The topology of that kind, or null with fail() text (MPI_ERR_TOPOLOGY).
[[nodiscard]] const core::Cartesian* cartesian_of(const core::Communicator& comm) noexcept;
[[nodiscard]] const core::Graph* graph_of(const core::Communicator& comm) noexcept;
[[nodiscard]] const core::Edges* edges_of(const core::Communicator& comm) noexcept;

/// The node of each of the communicator's first ranks.
[[nodiscard]] std::vector<int> nodes_of(const core::Communicator& comm, int ranks);

/// The caller's new rank in `order`, or MPI_UNDEFINED.
[[nodiscard]] int rank_in(const core::Placement& order, int old_rank) noexcept;

/// A communicator of the members in `order`, with `shape` as its topology and the
/// hints of `info` (may be null); MPI_COMM_NULL where the
/// caller is not one of them. Collective, without a message.
[[nodiscard]] int publish_shaped(core::Communicator& parent, const core::Placement& order,
                                 core::Topology::Shape shape, const core::Info* info,
                                 MPI_Comm* out);
/// `code`, of a call that refuses its arguments: the other ranks count a derivation, and so does
/// this one.
[[nodiscard]] inline int without(core::Communicator& parent, int code) noexcept {
  (void)parent.next_derivation();
  return code;
}
/// 0, 1, ...
[[nodiscard]] core::Placement in_order(int ranks);

}  // namespace tern::api
