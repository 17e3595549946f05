// SPDX-License-Identifier: Apache-2.0
// Starts one program as a rank.
// Why not posix_spawn: binding, parent-death signal, the guard's table, and an error that says
// which step failed.
// How: vfork, so that mpirun's memory is neither copied nor marked; the child touches nothing of it
// but the result. Threads: the one whose end means mpirun's end (the parent-death signal follows
// it).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

struct Spawn {
  const char* path = nullptr;  // found already, absolute or from `directory`
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;         // nullptr: stay
  const std::vector<int>* cpus = nullptr;  // nullptr, empty: not bound
  int input = 0, output = 1, error = 2;
  int inherited[3] = {-1, -1, -1};     // kept open under their own numbers
  volatile pid_t* announce = nullptr;  // gets the pid before the program starts
  const sigset_t* signal_mask = nullptr;
  const rlimit* open_files = nullptr;  // mpirun raises its own limit
  bool stop_at_start = false;          // before its first instruction, until SIGCONT
};

struct SpawnResult {
  pid_t pid = -1;
  int error = 0;          // errno; 0: the program runs
  const char* step = "";  // what failed, in words
};

// The program of each section, found. Throws as find_program() does.
[[nodiscard]] std::vector<std::string> find_programs(const Options& options);

[[nodiscard]] SpawnResult spawn(const Spawn& spawn) noexcept;

// Finds `program` as a shell in `directory` would, in the folders of `search_path` before those of
// PATH. Throws tern::Error saying where it was looked for.
[[nodiscard]] std::string find_program(const std::string& program, const std::string& directory,
                                       const std::string& search_path = {});

}  // namespace tern::mpirun
