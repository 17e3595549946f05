// SPDX-License-Identifier: Apache-2.0
// The life of a job: starts its ranks, watches them, ends all when one fails, and knows the exit
// code.
// Rules: the first failure decides the exit code (128 + signal where one killed a rank). A rank
// that fails before MPI_Finalize takes the others with it: SIGTERM, half a second later SIGKILL.
// What has not ended five seconds after that is named and left behind. Ranks are reaped only when
// all have ended, so that their process groups keep their numbers until then.
// Threads: the loop's.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/keeper.hpp"
#include "boot/shared_job.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/feed.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/hang.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/options.hpp"
#include "tools/mpirun/output_files.hpp"
#include "tools/mpirun/placement.hpp"
#include "tools/mpirun/pmix_server.hpp"
#include "tools/mpirun/sink.hpp"
#include "tools/mpirun/streams.hpp"

namespace tern::mpirun {

class Job {
 public:
  // `mask` is the signal mask that the ranks get.
  Job(Loop& loop, const Options& options, Places places, const sigset_t& mask);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  void start();
  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

  // The user's question: who waits for whom?
  void tell_waiting(const std::string& reason) { hang_.report(reason, {}); }

  // Ends all ranks: first this signal, SIGKILL after `patience` seconds.
  void end_ranks(int signal, double patience);
  // The user's signal: passed on; a second one kills.
  void interrupt(int signal);
  void send_all(int signal) noexcept;
  void continue_all();

  void say(const std::string& text);
  // What is no error; silent with --quiet.
  void remark(const std::string& text);

 private:
  struct Rank {
    int number = 0;
    const App* app = nullptr;
    pid_t pid = -1;
    Fd pidfd;
    bool ended = false;
  };

  // Hands descriptors from rank to rank (base/keeper.hpp).
  struct RankSocket {
    RankSocket();
    Keeper keeper;
    Fd inherited;  // the ranks' end

   private:
    explicit RankSocket(std::array<int, 2> ends);
  };

  [[nodiscard]] bool wants_placement() const;
  void watch(Rank& rank);
  void start_rank(int number, int app_index, const std::string& path);
  void connect_outputs(Rank& rank, Fd* output, Fd* error);
  [[nodiscard]] Fd connect_output(const Rank& rank, Sink& shown, const char* name);
  [[nodiscard]] Fd connect_input(const Rank& rank);
  void set_environment();
  void ranks_started();
  void on_exit(Rank& rank);
  void look_again(Rank& rank);
  void judge(const Rank& rank, const siginfo_t& how);
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
  void maybe_stop();
  void leave_behind();
  void reap();
  [[nodiscard]] std::string name_of(const Rank& rank) const;
  [[nodiscard]] static std::string fate_of(int others);

  Loop& loop_;
  const Options& options_;
  sigset_t mask_;
  rlimit open_files_;  // as mpirun found it
  std::string host_;
  std::string id_;
  int size_;
  int universe_;  // MPI_UNIVERSE_SIZE: the larger of ranks and allowed processors
  Guard guard_;
  Fd memory_fd_;
  Fd event_fd_;
  RankSocket keeper_;
  boot::SharedJob shared_;
  Hang hang_;
  PmixServer pmix_;
  Environment environment_;
  Sink stdout_, stderr_;
  Streams streams_;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::unique_ptr<Feed> feed_;  // where ranks cannot have mpirun's stdin itself
  Places places_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  int running_ = 0;
  int silent_ends_ = 0;  // ranks that ended with 0 after MPI_Init and before MPI_Finalize
  int exit_code_ = 0;
  bool failed_ = false;  // exit_code_ is decided
  bool ending_ = false;  // ranks end because we told them to
  bool interrupted_ = false;
  bool looks_for_awaited_ = false;
  bool left_behind_ = false;  // ranks that SIGKILL does not end
};

}  // namespace tern::mpirun
