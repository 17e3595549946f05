// SPDX-License-Identifier: Apache-2.0
// All worlds of an mpirun: the job of the command line, and those that ranks start by
// MPI_Comm_spawn through the door.
// Exit code: the first failure in the first world, or in a world connected with it, else the first
// in any world (128 + signal for a killed rank).
// Connected: two worlds, from their meeting until all ranks of one have disconnected. A failure
// ends all connected worlds, also over a third, and children that have not met their parent. A
// child that ends before the meeting is an error of MPI_Comm_spawn, and no failure.
//
// Threads: the loop's.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boot/spawn_request.hpp"
#include "tools/mpirun/door.hpp"
#include "tools/mpirun/guard.hpp"
#include "tools/mpirun/job.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/outputs.hpp"

namespace tern::mpirun {

class Worlds {
 public:
  Worlds(Loop& loop, const Options& options, const sigset_t& mask);
  Worlds(const Worlds&) = delete;
  Worlds& operator=(const Worlds&) = delete;
  ~Worlds();

  void start(Places places);
  [[nodiscard]] int exit_code() const noexcept {
    return code_.value_or(code_elsewhere_.value_or(0));
  }

  // A second signal kills the ranks.
  void interrupt(int signal);
  void send_all(int signal) noexcept;
  void continue_all();
  void tell_waiting(const std::string& reason);

  // For each Job:
  void note_code(Job& world, int exit_code);
  [[nodiscard]] bool has_code() const noexcept { return code_ || code_elsewhere_; }
  void end_connected(Job& failed, int exit_code);
  [[nodiscard]] int running_with(Job& world);
  void on_lost_output(int error);
  // A world may be over.
  void look();
  // Stops without the outputs, for ranks left behind.
  void stop_if_over();
  void count_ranks() noexcept;

  Loop& loop;
  Console console;
  Guard guard;
  const sigset_t signal_mask;  // of mpirun's start
  const rlimit open_files;

  Door door;

 private:
  void open(const std::shared_ptr<Caller>& caller, const std::string& text);
  void start_spawned(const std::shared_ptr<Caller>& caller, const boot::SpawnRequest& request);
  [[nodiscard]] Places places_for(const Job& parent, const boot::SpawnRequest& request,
                                  Options* options) const;
  [[nodiscard]] std::vector<Job*> connected_with(Job& world);
  void remove_ended();
  [[nodiscard]] bool all_over();
  [[nodiscard]] bool all_ending() const noexcept;
  void fail_all(int exit_code, const std::string& text);
  void on_timeout();
  void look_for_hang();

  const Options& options_;
  std::vector<std::unique_ptr<Job>> jobs_;  // the first stays
  int next_number_ = 1;
  std::optional<int> code_, code_elsewhere_;
  bool interrupted_ = false;
  bool looking_ = false;
  double hang_s_ = 0;
  std::int64_t reported_hang_ = 0;  // the begin of the last reported wait
};

}  // namespace tern::mpirun
