// SPDX-License-Identifier: Apache-2.0
// Rank tree: the process started as a rank, with all descendants, because only one MPI program of a
// script is the rank at a time.
// Source: proc_pid_stat(5), proc_pid_tid_children(5).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tern::boot {

// Starters are the ancestors of this process up to a launcher.
struct Starters {
  bool below_launcher = false;
  std::vector<pid_t> pids;  // from the parent upwards
  [[nodiscard]] bool have(pid_t pid) const noexcept;
};
[[nodiscard]] Starters starters_below(pid_t launcher);

// other_program() is a program of the rank with this library loaded, except ancestors, children,
// and forks without exec; 0 means none, or unknown.
[[nodiscard]] pid_t other_program(const Starters& starters);

void wait_if_ending(pid_t pid);

[[nodiscard]] std::string program_of(pid_t pid);

}  // namespace tern::boot
