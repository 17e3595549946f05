// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: which ranks can never go on, and a cycle among them.
// See: tests/unit/tools/wait_graph_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/wait_report.hpp"

namespace tern::mpirun {

// One rank as mpirun knows it.
struct WaitNode {
  enum class State { kRunning, kWaiting, kEnded };
  State state = State::kRunning;
  std::vector<WaitReport> reports;  // of a waiting one: a report each thread
};

struct WaitVerdict {
  std::vector<int> stuck;  // ranks that wait for what cannot come, ascending
  std::vector<int> cycle;  // 0 1 2: 0 waits for 1, 1 for 2, 2 for 0; empty without a cycle
};

// A rank goes on where one of its threads does; a thread where all that it waits for (or one, where
// one is enough) go on. Ranks outside MPI go on; ranks that have ended do not; a report that names
// no rank does.
[[nodiscard]] WaitVerdict judge_waiting(const std::vector<WaitNode>& nodes);

// "Deadlock: rank 0 waits for 1, 1 waits for 0." Empty where no rank is stuck.
[[nodiscard]] std::string in_words(const WaitVerdict& verdict, const std::vector<WaitNode>& nodes);

}  // namespace tern::mpirun
