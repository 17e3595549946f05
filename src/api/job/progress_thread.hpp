// SPDX-License-Identifier: Apache-2.0
// ProgressThread: progresses messages while the program computes (TERN_PROGRESS=thread, or auto for
// windows). The thread sleeps on the rank's doorbell, and naps while a program thread polls.
// Lifetime: api::Runtime.
#pragma once

#include <atomic>
#include <thread>

#include "base/doorbell.hpp"
#include "core/process.hpp"

namespace tern::api {

class ProgressThread {
 public:
  ProgressThread(core::Process& process, Doorbell& doorbell);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread();

 private:
  void run() noexcept;
  void sleep() noexcept;
  [[nodiscard]] bool somebody_waits() const noexcept;
  int poll(Descriptors* armed) const noexcept;

  core::Process& process_;
  Doorbell& doorbell_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace tern::api
