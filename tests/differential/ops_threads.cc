// SPDX-License-Identifier: Apache-2.0
// Threads with random operations, each on a separate communicator.
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "step.hpp"

namespace {

// Threads may run operations without state of the process.
std::vector<const Operation*> allowed() {
  std::vector<const Operation*> all;
  for (const Operation* list : {kCollectives, kTypes}) {
    for (; list->name; ++list) all.push_back(list);
  }
  for (const Operation* list : {kPointToPoint, kRequests}) {
    for (; list->name; ++list) {
      // A process has a single buffer for buffered sends.
      if (std::string(list->name) != "exchange" && std::string(list->name) != "in_turn")
        all.push_back(list);
    }
  }
  return all;
}

void threads(Step& step) {
  static const std::vector<const Operation*> kAllowed = allowed();
  const int number = step.all.between(2, 3);
  std::vector<MPI_Comm> comms(static_cast<size_t>(number));
  for (MPI_Comm& comm : comms) step.ok(MPI_Comm_dup(step.comm, &comm), "MPI_Comm_dup");
  std::vector<Step> steps;
  for (int i = 0; i < number; ++i) {
    steps.emplace_back(step.key, i, comms[static_cast<size_t>(i)], step.words());
    steps.back().prefix = step.prefix;
  }
  std::vector<std::thread> running;
  for (Step& one : steps) {
    running.emplace_back([&one] {
      const int length = one.all.between(1, 3);
      for (int i = 0; i < length; ++i) {
        const int which = one.all.below(static_cast<int>(kAllowed.size()));
        const Operation& operation = *kAllowed[static_cast<size_t>(which)];
        one.say("a thread: %s", operation.name);
        operation.run(one);
        if (was_given_less()) one.skip("less than was asked for");
        MPI_Barrier(one.comm);
      }
    });
  }
  for (std::thread& one : running) one.join();
  for (const Step& one : steps) step.add(one);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

const Operation kThreads[] = {{"threads", threads, 4}, {}};
