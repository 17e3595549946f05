// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of another world: by the job's mpirun, else by an mpirun in the background, from
// the folder of this library.
// Why: the job's mpirun knows the free cores, and runs already. Other launchers, and other hosts,
// need the second way.
#pragma once

#include <string>
#include <vector>

#include "api/comm/port.hpp"
#include "base/fd.hpp"
#include "boot/spawn_request.hpp"

namespace tern::api {

/// Sends the request to the job's mpirun. Returns an invalid Link without an mpirun on this host,
/// and for ranks on other hosts. A blob, or the end of the stream, means: no world. Throws Error.
[[nodiscard]] Link ask_mpirun(const boot::SpawnRequest& request, const WaitUntil& wait);

struct BackgroundWorld {
  Fd alive;            // end of file: the world has ended
  std::string mpirun;  // process id
};

/// The world may use the processors of process `server` (0: of this rank). Throws
/// Error(MPI_ERR_SPAWN).
[[nodiscard]] BackgroundWorld start_in_background(const boot::SpawnRequest& request, int server);

/// Variables for the new ranks. Without a launcher's variables: no new rank joins this world.
[[nodiscard]] std::vector<std::string> inheritable_variables();

}  // namespace tern::api
