// SPDX-License-Identifier: Apache-2.0
// All worlds of an mpirun: the job of the command line, and the worlds of MPI_Comm_spawn, requested
// through the door.
// Exit code: the first failure in the first world or a connected world, else the first in any world
// (128 + signal for a killed rank).
// Connected worlds: from the meeting until all ranks of one world have disconnected. A failure ends
// all connected worlds, even over a third world, and children before the meeting. A child's end
// before the meeting is an error of MPI_Comm_spawn, but no failure.
//
// Threads: the loop's.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boot/spawn_request.hpp"
#include "tools/mpirun/door.hpp"
#include "tools/mpirun/job.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/surroundings.hpp"

namespace tern::mpirun {

class Worlds final : public Surroundings {
 public:
  Worlds(Loop& loop, const Options& options, const sigset_t& mask);
  Worlds(const Worlds&) = delete;
  Worlds& operator=(const Worlds&) = delete;

  void start(Places places);
  [[nodiscard]] int exit_code() const noexcept {
    return code_.value_or(code_elsewhere_.value_or(0));
  }

  // A second signal kills the ranks.
  void interrupt(int signal);
  void send_all(int signal) noexcept;
  void continue_all();
  void tell_waiting(const std::string& reason);

  void note_code(Job& world, int exit_code) override;
  [[nodiscard]] bool has_code() const noexcept override { return code_ || code_elsewhere_; }
  void end_connected(Job& failed, int exit_code) override;
  [[nodiscard]] int running_with(Job& world) override;
  void on_lost_output(int error) override;
  void look() override;
  void stop_if_over() override;
  void count_ranks() noexcept override;
  void wake_ranks() noexcept override;

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
  Door door_;
  std::vector<std::unique_ptr<Job>> jobs_;  // the first stays
  int next_number_ = 1;
  std::optional<int> code_, code_elsewhere_;
  bool interrupted_ = false;
  bool looking_ = false;
  double hang_s_ = 0;
  std::int64_t reported_hang_ = 0;  // the begin of the last reported wait
};

}  // namespace tern::mpirun
