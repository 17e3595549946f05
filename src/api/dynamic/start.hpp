// SPDX-License-Identifier: Apache-2.0
// start_world: starts the ranks of another world by the mpirun beside this library.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"

namespace tern::api {

struct Command {
  std::string program;
  std::vector<std::string> arguments;
  int ranks = 1;
  std::vector<std::string> options;  // of mpirun
};

struct StartedWorld {
  Fd alive;            // end of file: the world has ended
  std::string mpirun;  // process id
};

/// `port` leads to the parent. The world may use the processors of process `server` (0: of this
/// rank). Throws Error(MPI_ERR_SPAWN).
[[nodiscard]] StartedWorld start_world(const std::vector<Command>& commands,
                                       const std::vector<std::string>& options,
                                       const std::string& port, int server);

inline constexpr const char* kParentVariable = "TERN_PARENT";

}  // namespace tern::api
