// SPDX-License-Identifier: Apache-2.0
// Rank tree: the process that a launcher has started as a rank, with all children.
// Why: a rank may be a script with several MPI programs. Only one program at a time is the rank.
// Source: proc_pid_stat(5), proc_pid_tid_children(5). Threads: any.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tern::boot {

// The way up from this process to a launcher.
struct Starters {
  bool below_launcher = false;  // false: /proc shows no way to the launcher
  std::vector<pid_t> pids;      // from the parent up, without the launcher
  [[nodiscard]] bool have(pid_t pid) const noexcept;
};
[[nodiscard]] Starters starters_below(pid_t launcher);

// Another program of the same rank, with this library loaded. Starters and children of this process
// do not count, nor do forks without exec. 0: none, or the kernel does not list children.
[[nodiscard]] pid_t other_program(const Starters& starters);

// Waits for the end of a process that exits now or was killed: a second at most.
void wait_if_ending(pid_t pid);

// The name of a process's program file, without folders.
[[nodiscard]] std::string program_of(pid_t pid);

}  // namespace tern::boot
