// SPDX-License-Identifier: Apache-2.0
// Prints which ranks wait for which: asks all ranks, and adds the system's view.
// When: SIGQUIT, --timeout, or TERN_HANG seconds without progress in any rank of any world.
// How: mpirun increments a number in the ranks' shared memory. Ranks waiting in MPI check the
// number before the next sleep and answer there. For ranks outside MPI /proc gives the state.
// Threads: the loop's. Lifetime: Job.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "boot/shared_job.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/start_watch.hpp"
#include "tools/mpirun/wait_graph.hpp"

namespace tern::mpirun {

class Hang {
 public:
  struct Rank {
    pid_t pid = -1;
    bool ended = false;
  };
  struct HangJob {
    std::function<std::vector<Rank>()> ranks;
    std::function<void(const std::string& line)> say;
    std::string of_world;  // " of world 2"; empty for the first
  };

  Hang(Loop& loop, boot::SharedJob& shared, HangJob job);
  Hang(const Hang&) = delete;
  Hang& operator=(const Hang&) = delete;
  ~Hang() { loop_.forget_timers(this); }

  // Asks the ranks, waits briefly for answers, prints, then calls `then` if set.
  void report(const std::string& reason, const std::function<void()>& then);
  void watch_start() { start_.begin(static_cast<int>(job_.ranks().size())); }
  // Whether no rank can make progress alone; *newest becomes the time of the last wait's begin, if
  // later.
  [[nodiscard]] bool all_wait(std::int64_t* newest) const;

 private:
  void collect(int rounds, const std::string& reason, const std::function<void()>& then);
  [[nodiscard]] bool all_answered() const;
  void print(const std::string& reason);
  [[nodiscard]] std::string line_of(int rank, const Rank& known, WaitNode* node) const;
  [[nodiscard]] std::string fence_of(int rank, const std::vector<Rank>& all, WaitNode* node) const;
  [[nodiscard]] std::string last_call(int rank, pid_t pid) const;
  Loop& loop_;
  boot::SharedJob& shared_;
  HangJob job_;
  StartWatch start_;
  [[nodiscard]] bool is_steady(int rank) const;

  // A rank's state at the question. Only unchanged states may be judged together.
  struct Before {
    std::int64_t waiting_since = 0;
    bool in_fence = false;
  };
  std::vector<Before> before_;
};

}  // namespace tern::mpirun
