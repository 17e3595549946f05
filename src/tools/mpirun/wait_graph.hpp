// SPDX-License-Identifier: Apache-2.0
// The wait graph: ranks unable to go on, and a cycle among these ranks.
#pragma once

#include <string>
#include <vector>

#include "base/wait_report.hpp"

namespace tern::mpirun {

struct WaitNode {
  enum class State { kRunning, kWaiting, kEnded };
  State state = State::kRunning;
  std::vector<WaitReport> reports;
};

struct WaitVerdict {
  std::vector<int> stuck;
  std::vector<int> cycle;  // 0 1 2: 0 waits for 1, 1 for 2, 2 for 0; empty without a cycle
};

// A rank goes on if any of the rank's threads does. A thread goes on if all awaited ranks go on, or
// any if any suffices. Ranks outside MPI go on; ended ranks do not; a report without ranks does.
[[nodiscard]] WaitVerdict judge_waiting(const std::vector<WaitNode>& nodes);

[[nodiscard]] std::string in_words(const WaitVerdict& verdict, const std::vector<WaitNode>& nodes);

}  // namespace tern::mpirun
