// SPDX-License-Identifier: Apache-2.0
// ProgressThread: messages get on while the program computes (TERN_PROGRESS=thread; auto, where
// there are windows that others reach by messages).
// How: it sleeps on the rank's doorbell, and naps while a thread of the program waits in MPI, which
// polls anyhow: then no sender rings for it. Lifetime: api::Runtime, within the channels'.
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
