// SPDX-License-Identifier: Apache-2.0
// SpawnRequest: a rank asks its mpirun to start the ranks of another world (MPI_Comm_spawn).
// Way: a stream to mpirun's door, an abstract Unix socket; each blob follows a length of 8 bytes.
// mpirun answers by a sentence if the world cannot start, or ends before the meeting with the
// caller, and is silent otherwise. The caller closes the stream after the meeting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern::boot {

/// The key of the door's name, at rank 0.
inline constexpr std::string_view kDoorKey = "tern.door";
/// Leads a new world to its parent.
inline constexpr const char* kParentVariable = "TERN_PARENT";

struct SpawnCommand {
  std::string program;
  std::vector<std::string> arguments;
  int ranks = 1;
  std::vector<std::string> options;  // of mpirun
};

struct SpawnRequest {
  std::string job;     // the caller's
  std::string port;    // to the caller
  std::string folder;  // absolute
  int universe = 0;    // 0: mpirun's choice
  std::vector<SpawnCommand> commands;
  std::vector<std::string> environment;  // NAME=VALUE
};

[[nodiscard]] std::string pack(const SpawnRequest& request);
/// Throws Error(MPI_ERR_SPAWN).
[[nodiscard]] SpawnRequest spawn_request_in(std::string_view blob);

}  // namespace tern::boot
