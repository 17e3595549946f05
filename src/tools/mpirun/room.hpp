// SPDX-License-Identifier: Apache-2.0
// Room: whether this machine has enough descriptors, processes and memory for so many ranks.
// Why: a job that cannot fit ends before the first rank starts. A job that starts and then lacks
// memory leaves a machine that swaps.
// Sources: getrlimit(2), proc(5), cgroups(7). Only a certain lack counts.
// See: tests/unit/tools/room_test.cc, tests/mpi/fault_resources.sh.
#pragma once

#include <cstdint>
#include <string>

namespace tern::mpirun {

// A machine's limits; kNone: no limit.
struct Room {
  static constexpr std::int64_t kNone = INT64_MAX;
  std::int64_t descriptors = kNone;  // of mpirun
  std::int64_t user_processes = kNone;
  std::int64_t system_processes = kNone;
  std::int64_t group_processes = kNone;  // still free in the cgroup
  std::int64_t memory = kNone;           // bytes: MemAvailable and free swap
  std::int64_t group_memory = kNone;     // the cgroup's limit, bytes
};

// `root`: where /proc and /sys lie, for tests.
[[nodiscard]] Room room_here(const std::string& root = "");

// The first lack, with the cure; empty: enough of all. `outputs`: pipes for each rank.
[[nodiscard]] std::string lack_in_words(const Room& room, int ranks, int outputs);

}  // namespace tern::mpirun
