// SPDX-License-Identifier: Apache-2.0
// Starts a program as a rank.
// Why not posix_spawn: binding, parent-death signal, the guard's table, and errors with the failed
// step. vfork neither copies nor marks mpirun's memory; the child writes only the result. Threads:
// the thread whose end means mpirun's end (parent-death signal).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

struct Spawn {
  const char* path = nullptr;  // already found: absolute, or relative to `directory`
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;
  const std::vector<int>* cpus = nullptr;
  int input = 0, output = 1, error = 2;
  int inherited[4] = {-1, -1, -1, -1};
  volatile pid_t* announce = nullptr;  // receives the pid before exec
  const sigset_t* signal_mask = nullptr;
  const rlimit* open_files = nullptr;
  bool stop_at_start = false;  // stop before the first instruction, until SIGCONT
};

struct SpawnResult {
  pid_t pid = -1;
  int error = 0;
  const char* step = "";
};

// Throws as find_program() does.
[[nodiscard]] std::vector<std::string> find_programs(const Options& options, const char* path);

[[nodiscard]] SpawnResult spawn(const Spawn& spawn) noexcept;

// Finds `program` as a shell in `directory` does, searching `search_path` before `path`, the
// variable PATH (null: unset). Throws tern::Error with the places searched.
[[nodiscard]] std::string find_program(const std::string& program, const std::string& directory,
                                       const std::string& search_path, const char* path);

}  // namespace tern::mpirun
