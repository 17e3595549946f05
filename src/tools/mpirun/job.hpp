// SPDX-License-Identifier: Apache-2.0
// The life of a world: the ranks of mpirun's command line (world 0), or of one MPI_Comm_spawn.
// A job starts and watches ranks, and judges the ends of ranks.
// Rules: a failure before MPI_Finalize ends the other ranks, also of connected worlds: SIGTERM,
// half a second later SIGKILL. mpirun names ranks alive five seconds later and leaves them behind.
// Ranks are reaped after all have ended, to keep their process group ids reserved.
// Lifetime: Worlds; a spawned world ends with the last rank. Threads: the loop's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/door.hpp"
#include "tools/mpirun/environment.hpp"
#include "tools/mpirun/feed.hpp"
#include "tools/mpirun/hang.hpp"
#include "tools/mpirun/meeting.hpp"
#include "tools/mpirun/options.hpp"
#include "tools/mpirun/outputs.hpp"
#include "tools/mpirun/placement.hpp"
#include "tools/mpirun/pmix_server.hpp"
#include "tools/mpirun/recording.hpp"
#include "tools/mpirun/surroundings.hpp"

namespace tern::mpirun {

/// The parent of a spawned world.
struct Parent {
  std::shared_ptr<Caller> caller;
  int world = 0;
  std::string port;
};

class Job {
 public:
  // `inherited`: variables for the ranks. `parent` is set for a spawned world alone.
  Job(Surroundings& all, int number, Options options, Places places, const char* const* inherited,
      std::optional<Parent> parent);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  // `paths`: the program found for each section.
  void start(const std::vector<std::string>& paths);

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] const Places& places() const noexcept { return places_; }
  [[nodiscard]] boot::SharedJob& shared() noexcept { return meeting_.shared; }
  [[nodiscard]] int running() const noexcept { return running_; }
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }
  // Whether all ranks have ended or are left behind, and all output has arrived.
  [[nodiscard]] bool is_over();
  // Whether this is a child of `parent` before the meeting.
  [[nodiscard]] bool awaits(const Job& parent) const noexcept;
  [[nodiscard]] bool knows(const Job& other) const;

  void end_ranks(int signal, double timeout);
  void send_all(int signal) noexcept;
  void continue_all();
  // Prints the reason, then ends the world.
  void fail(int exit_code, const std::string& text);

  Outputs outputs;
  Hang& hang() noexcept { return hang_; }

 private:
  struct Rank {
    int number = 0;
    const App* app = nullptr;
    pid_t pid = -1;
    Fd pidfd;
    volatile pid_t* guarded = nullptr;
    bool ended = false;
    int death = 0;         // exit code, if the job has survived the rank
    int survivors = 0;     // at the death
    int ended_worlds = 0;  // of the rank's worlds in the background, in order
  };

  void watch(Rank& rank);
  void start_rank(int number, int app_index, const std::string& path);
  void start_all(const std::vector<std::string>& paths);
  [[nodiscard]] Fd connect_input(const Rank& rank);
  void set_environment();
  void hand_out_learnt();
  void on_exit(Rank& rank);
  void look_again(Rank& rank);
  void judge(Rank& rank, const siginfo_t& how);
  [[nodiscard]] bool survive(Rank& rank, const siginfo_t& how);
  void judge_silent_end(const Rank& rank);
  void judge_silent_ends();
  bool tell_parent(const std::string& text) noexcept;
  void look_for_awaited_ends();
  [[nodiscard]] const Rank* ended_that_keeps(const Rank& waiting) const;
  void on_event();
  [[nodiscard]] std::vector<Hang::Rank> ranks_now() const;
  void all_ended();
  [[nodiscard]] bool awaits_worlds();
  void leave_behind();
  void reap();
  [[nodiscard]] std::string name_of(const Rank& rank) const;
  [[nodiscard]] std::string words_of_world() const;
  // "The other rank is being ended.", of all connected worlds.
  [[nodiscard]] std::string fate(int without = 0);

  Surroundings& all_;
  Loop& loop_;
  const int number_;
  const Options options_;
  std::optional<Parent> parent_;
  JobFacts facts_;
  Meeting meeting_;
  Hang hang_;
  std::unique_ptr<PmixServer> pmix_;  // libpmix serves one world
  Environment environment_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Recording> recording_;  // null: no trace, no profile
  Places places_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  int running_ = 0;
  int silent_ends_ = 0;
  bool ending_ = false;
  bool looks_for_awaited_ = false;
  bool left_behind_ = false;
};

}  // namespace tern::mpirun
