// SPDX-License-Identifier: Apache-2.0
// Membership: attaches the C API's Process to its job, and detaches it.
// Life cycle: start() and stop() per user (MPI_Init, sessions); the last stop() leaves the job.
// Threads: any; a lock serialises both.
#pragma once

#include <memory>
#include <mutex>

#include "api/job/job_recording.hpp"
#include "api/job/runtime.hpp"
#include "boot/boot.hpp"
#include "core/process.hpp"
#include "mpix.h"

namespace tern::api {

class Membership {
 public:
  explicit Membership(core::Process& process) noexcept : process_(process) {}

  /// All ranks enter and leave the world together; each process leaves sessions alone.
  enum class User { kWorld, kSession };
  void provide(const MPIX_Boot& given);
  /// Raises the thread level to the highest of all users. Throws Error.
  void start(core::ThreadLevel level, User user);
  void end_world();
  /// Without sessions in the job, all ranks leave together. With sessions, this process may return,
  /// so peers keep the connection info. A provided world ends with the last user.
  void stop(User user);
  void await(const core::Group& group) { runtime_->await(group); }
  [[nodiscard]] Runtime& runtime() noexcept { return *runtime_; }
  /// Starts a progress thread if TERN_PROGRESS is "auto". The caller holds no channel's lock.
  void start_progress() noexcept;
  /// Starts the thread for enqueued operations. The caller holds no channel's lock. Throws Error.
  void start_proxy();

 private:
  void enter_job(core::ThreadLevel level);
  void start_recorder(int64_t begin_ns);
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
  bool was_provided_ = false;
  bool left_together_ = false;  // old connection infos are invalid
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<JobRecording> recording_;
};

[[nodiscard]] Membership& membership() noexcept;

}  // namespace tern::api
