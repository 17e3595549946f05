// SPDX-License-Identifier: Apache-2.0
// Deadlines: one thread per process sleeps until the earliest.
// Threads: any. The first timer starts the thread, Timer::stop_thread() ends it.
#ifndef TORCH_TERN_TIMER_HPP
#define TORCH_TERN_TIMER_HPP

#include <chrono>
#include <functional>

namespace torch_tern {

// Calls `ring` once, on the timers' thread. After the destructor `ring` does not run.
class Timer {
 public:
  Timer(std::chrono::steady_clock::time_point when, std::function<void()> ring);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  static void stop_thread();

 private:
  friend class TimerThread;
  const std::chrono::steady_clock::time_point when_;
  const std::function<void()> ring_;
};

}  // namespace torch_tern

#endif
