// SPDX-License-Identifier: Apache-2.0
// Closer: a thread that unmaps what peers have withdrawn.
// Why: unmapping waits for all work on the device, and a stream of the program's may wait for what
// this rank does next: a thread that makes progress must not wait for that. No call of the driver
// says whether streams that do not meet the legacy stream have work.
// Lifetime: of its transport; the thread from the first import that goes. The end waits for what is
// left. Threads: one owner; the thread touches the driver and what it was given alone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "btl/cuda_ipc/opening.hpp"

namespace tern::btl::cuda_ipc {

class Closer {
 public:
  /// An import on its way out.
  struct Going {
    explicit Going(const Import& import) : what(import) {}
    Import what;
    bool unmapped = false;  // written before `over`
    std::atomic<bool> over{false};
  };

  Closer() = default;
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  ~Closer() { end(); }
  /// Waits for what is left.
  void end() noexcept;
  /// Where no thread can be had it is done before this returns. Throws std::bad_alloc.
  void close(std::shared_ptr<Going> one);
  /// Waits for what was given, at most so long.
  void wait(std::chrono::microseconds most) noexcept;

 private:
  void run() noexcept;
  static void unmap(Going& one) noexcept;

  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::shared_ptr<Going>> queue_;  // the first one is under way
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tern::btl::cuda_ipc
