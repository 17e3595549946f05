// SPDX-License-Identifier: Apache-2.0
// Closer: a thread that unmaps memory withdrawn by peers.
// Why: unmapping waits for all work on the device, and a stream of the program may wait for this
// rank's next call, so a progress thread must not unmap. The driver cannot tell whether
// non-blocking streams have work.
// The thread starts with the first withdrawn import. Threads: a single owner; the thread touches
// only the driver and the queue.
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
  void end() noexcept;
  /// close() unmaps before returning if the thread cannot start. Throws std::bad_alloc.
  void close(std::shared_ptr<Going> one);
  void wait(std::chrono::microseconds most) noexcept;

 private:
  void run() noexcept;
  static void unmap(Going& one) noexcept;

  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::shared_ptr<Going>> queue_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tern::btl::cuda_ipc
