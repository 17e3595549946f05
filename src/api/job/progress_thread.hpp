// SPDX-License-Identifier: Apache-2.0
// ProgressThread: progresses messages while the program computes (TERN_PROGRESS=thread, or auto
// with windows accessed by messages).
// How: sleeps on the rank's doorbell. Naps while a program thread waits in MPI and polls: then
// senders need not ring.
// Lifetime: api::Runtime, within the channels' lifetime.
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
