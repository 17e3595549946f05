// SPDX-License-Identifier: Apache-2.0
// Room: whether this machine has enough descriptors, processes and memory for a number of ranks.
// Why: a job that cannot fit should end before the start; a started job without memory makes the
// machine swap.
// Sources: getrlimit(2), proc(5), cgroups(7). Only a certain lack counts.
#pragma once

#include <cstdint>
#include <string>

namespace tern::mpirun {

struct Room {
  static constexpr std::int64_t kNone = INT64_MAX;
  std::int64_t descriptors = kNone;
  std::int64_t user_processes = kNone;
  std::int64_t system_processes = kNone;
  std::int64_t group_processes = kNone;
  std::int64_t memory = kNone;  // bytes: MemAvailable and free swap
  std::int64_t group_memory = kNone;
};

// `root`: the directory with /proc and /sys, for tests.
[[nodiscard]] Room room_here(const std::string& root = "");

// Returns the first lack, with the cure; empty if nothing lacks. `outputs`: pipes per rank.
[[nodiscard]] std::string lack_in_words(const Room& room, int ranks, int outputs);

}  // namespace tern::mpirun
