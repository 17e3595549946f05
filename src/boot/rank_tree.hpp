// SPDX-License-Identifier: Apache-2.0
// Rank tree: the process started by a launcher as a rank, with all descendants.
// Why: a rank may be a script with several MPI programs, of which only one at a time is the rank.
// Source: proc_pid_stat(5), proc_pid_tid_children(5). Threads: any.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tern::boot {

// The ancestors of this process up to a launcher.
struct Starters {
  bool below_launcher = false;  // false: /proc shows no path to the launcher
  std::vector<pid_t> pids;      // from the parent upwards, without the launcher
  [[nodiscard]] bool have(pid_t pid) const noexcept;
};
[[nodiscard]] Starters starters_below(pid_t launcher);

// Finds another program of the rank with this library loaded. Ignores ancestors and children of
// this process, and forks without exec. Returns 0 if there is none, or the kernel lists no
// children.
[[nodiscard]] pid_t other_program(const Starters& starters);

// Waits up to a second if the process is exiting or was killed.
void wait_if_ending(pid_t pid);

// The program's file name, without folders.
[[nodiscard]] std::string program_of(pid_t pid);

}  // namespace tern::boot
