// SPDX-License-Identifier: Apache-2.0
// The parent of a spawned world.
#pragma once

namespace tern::api {

/// At the end of MPI_Init: collective over the world, if MPI_Comm_spawn started it.
[[nodiscard]] int meet_parent() noexcept;

}  // namespace tern::api
