// SPDX-License-Identifier: Apache-2.0
// Membership: brings the one Process of the C API into its job and out again.
// Why: MPI_Init, sessions and functions in need of a thread share one Runtime.
// Life cycle: start() for each user (MPI_Init, sessions), stop() at each user's end; the last
// stop() leaves the job.
// Threads: any; a lock admits one start() or stop() at a time.
#pragma once

#include <memory>
#include <mutex>

#include "api/job/runtime.hpp"
#include "boot/boot.hpp"
#include "core/process.hpp"
#include "mpix.h"

namespace tern::api {

class Membership {
 public:
  explicit Membership(core::Process& process) noexcept : process_(process) {}

  /// A user of MPI: the world of MPI_Init, entered and left by all ranks together, or a session,
  /// entered and left by each process alone.
  enum class User { kWorld, kSession };
  /// How the ranks of the next world meet. Throws Error.
  void provide(const MPIX_Boot& given);
  /// One more user; the level of threads is the highest of all users. Throws Error.
  void start(core::ThreadLevel level, User user);
  /// MPI_Finalize's first step: deletes the attributes of MPI_COMM_SELF while MPI still works.
  /// Throws Error.
  void end_world();
  /// One user less. Without sessions in the job, all ranks leave the job together and nothing
  /// remains. With sessions, this process may come back: peers keep its connection info. A world
  /// provided by the program ends with its last user.
  void stop(User user);
  /// Waits until all of the group have entered the job. Throws Error.
  void await(const core::Group& group) { runtime_->await(group); }
  /// From now on a thread moves messages, too, if TERN_PROGRESS is "auto": peers get answers while
  /// the program computes. The caller holds no channel's lock.
  void start_progress() noexcept;
  /// From now on a thread runs operations enqueued on streams. The caller holds no channel's lock.
  /// Throws Error.
  void start_proxy();

 private:
  void enter_job(core::ThreadLevel level);
  void come_back();
  void rest() noexcept;
  void leave_job();
  void forget_world();
  void raise_level(core::ThreadLevel level) noexcept;
  void admit_threads(bool had_threads) noexcept;
  void explain_launcher() const;
  void count_cores();
  void complain();

  core::Process& process_;
  std::mutex mutex_, progress_mutex_;
  int users_ = 0;
  bool was_provided_ = false;   // by the program: the last world of this process
  bool left_together_ = false;  // all ranks have left the job: old connection infos are invalid
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<Runtime> runtime_;
};

/// Made at first use.
[[nodiscard]] Membership& membership() noexcept;

}  // namespace tern::api
