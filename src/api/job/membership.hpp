// SPDX-License-Identifier: Apache-2.0
// Membership: attaches the C API's Process to its job, and detaches it.
// Why: MPI_Init, sessions, and functions needing a thread share one Runtime.
// Life cycle: start() and stop() for each user (MPI_Init, sessions); the last stop() leaves the
// job. Threads: any; a lock serialises start() and stop().
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
  /// Sets the boot functions of the next world. Throws Error.
  void provide(const MPIX_Boot& given);
  /// Adds a user; the thread level is the highest of all users. Throws Error.
  void start(core::ThreadLevel level, User user);
  /// MPI_Finalize's first step: deletes the attributes of MPI_COMM_SELF while MPI works. Throws
  /// Error.
  void end_world();
  /// Removes a user. Without sessions in the job, all ranks leave together and nothing remains.
  /// With sessions, this process may return, so peers keep its connection info. A world provided by
  /// the program ends with its last user.
  void stop(User user);
  /// Waits until all members have entered the job. Throws Error.
  void await(const core::Group& group) { runtime_->await(group); }
  /// Starts a thread that progresses messages, if TERN_PROGRESS is "auto", so peers get answers
  /// while the program computes. The caller holds no channel's lock.
  void start_progress() noexcept;
  /// Starts the thread for operations enqueued on streams. The caller holds no channel's lock.
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
  bool was_provided_ = false;   // the program provided the boot: last world of this process
  bool left_together_ = false;  // all ranks left the job: old connection infos are invalid
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<Runtime> runtime_;
};

[[nodiscard]] Membership& membership() noexcept;

}  // namespace tern::api
