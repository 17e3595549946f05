// SPDX-License-Identifier: Apache-2.0
// The life of a job: starts and watches the ranks, ends all after a failure, and determines the
// exit code.
// Rules: the first failure decides the exit code (128 + signal for a killed rank). A failure before
// MPI_Finalize ends the other ranks: SIGTERM, half a second later SIGKILL. mpirun names ranks alive
// five seconds later and leaves them behind. Ranks are reaped after all have ended, to keep their
// process group ids reserved.
// Threads: the loop's.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/feed.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/hang.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/meeting.hpp"
#include "tools/mpirun/options.hpp"
#include "tools/mpirun/outputs.hpp"
#include "tools/mpirun/placement.hpp"
#include "tools/mpirun/pmix_server.hpp"

namespace tern::mpirun {

class Job {
 public:
  Job(Loop& loop, const Options& options, Places places, const sigset_t& mask);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  void start();
  [[nodiscard]] int exit_code() const noexcept { return exit_code_.value_or(0); }

  void tell_waiting(const std::string& reason) { hang_.report(reason, {}); }

  void end_ranks(int signal, double timeout);
  // A second signal kills the ranks.
  void interrupt(int signal);
  void send_all(int signal) noexcept;
  void continue_all();

  Outputs outputs;

 private:
  struct Rank {
    int number = 0;
    const App* app = nullptr;
    pid_t pid = -1;
    Fd pidfd;
    bool ended = false;
    int death = 0;         // exit code, if the job has survived the rank
    int survivors = 0;     // at the death
    int ended_worlds = 0;  // of the worlds that the rank has started, in order
  };

  struct Original {
    sigset_t signal_mask;
    rlimit open_files;
  };

  [[nodiscard]] bool wants_placement() const;
  void watch(Rank& rank);
  void start_rank(int number, int app_index, const std::string& path);
  [[nodiscard]] Fd connect_input(const Rank& rank);
  void set_environment();
  void hand_out_learnt();
  void ranks_started();
  void on_exit(Rank& rank);
  void look_again(Rank& rank);
  void judge(Rank& rank, const siginfo_t& how);
  [[nodiscard]] bool survive(Rank& rank, const siginfo_t& how);
  [[nodiscard]] std::optional<int> code_without_survivors() const;
  void judge_silent_end(const Rank& rank);
  void judge_silent_ends();
  void look_for_awaited_ends();
  [[nodiscard]] const Rank* ended_that_keeps(const Rank& waiting) const;
  void on_event();
  void fail(int exit_code, const std::string& text);
  void on_timeout();
  [[nodiscard]] std::vector<Hang::Rank> ranks_now() const;
  void on_lost_output(int error);
  void all_ended();
  [[nodiscard]] bool awaits_worlds();
  void maybe_stop();
  void leave_behind();
  void reap();
  [[nodiscard]] std::string name_of(const Rank& rank) const;
  [[nodiscard]] static std::string fate_of(int others);

  Loop& loop_;
  const Options& options_;
  Original original_;
  JobFacts facts_;
  Guard guard_;
  Meeting meeting_;
  Hang hang_;
  PmixServer pmix_;
  Environment environment_;
  std::unique_ptr<Feed> feed_;
  Places places_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  int running_ = 0;
  int silent_ends_ = 0;
  std::optional<int> exit_code_;
  bool ending_ = false;
  bool interrupted_ = false;
  bool looks_for_awaited_ = false;
  bool left_behind_ = false;
};

}  // namespace tern::mpirun
