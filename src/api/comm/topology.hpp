// SPDX-License-Identifier: Apache-2.0
// Functions shared by the MPI functions of the chapter "topology".
#pragma once

#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "core/topology.hpp"
#include "core/topology_placement.hpp"
#include "mpi.h"

namespace tern::api {

/// Returns null with fail() text (MPI_ERR_TOPOLOGY) for another kind of topology.
[[nodiscard]] const core::Cartesian* cartesian_of(const core::Communicator& comm) noexcept;
[[nodiscard]] const core::Graph* graph_of(const core::Communicator& comm) noexcept;
[[nodiscard]] const core::Edges* edges_of(const core::Communicator& comm) noexcept;

[[nodiscard]] std::vector<int> nodes_of(const core::Communicator& comm, int ranks);

[[nodiscard]] int rank_in(const core::Placement& order, int old_rank) noexcept;

/// Callers outside `order` get MPI_COMM_NULL. Collective, without messages.
[[nodiscard]] int publish_shaped(core::Communicator& parent, const core::Placement& order,
                                 core::Topology::Shape shape, const core::Info* info,
                                 MPI_Comm* out);
/// Counts a derivation for a refused call, as the other ranks do.
[[nodiscard]] inline int without(core::Communicator& parent, int code) noexcept {
  (void)parent.next_derivation();
  return code;
}
[[nodiscard]] core::Placement in_order(int ranks);

}  // namespace tern::api
