// SPDX-License-Identifier: Apache-2.0
// An operation's waits.
#include <algorithm>
#include <thread>

#include "device_queue.hpp"
#include "operation.hpp"
#include "signals.hpp"

namespace torch_tern {

void Operation::wait_here(Milliseconds time) {
  if (test_here()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_waited_for_ = true;
  }
  std::exception_ptr error;
  try {
    error = wait_for_requests(time);
  } catch (...) {  // from a signal handler or an alarm
    give_up_waiting();
    throw;
  }
  conclude(error);
}

// The call continues, and the progress thread serves the future.
void Operation::give_up_waiting() {
  {
    const std::lock_guard lock(mutex_);
    is_waited_for_ = false;
    if (!future_) {
      return;
    }
  }
  hand_over();
}

void Operation::wait(Milliseconds time) {
  if (!is_done_) {
    refuse_fork();
    std::unique_lock waiting(waiting_);
    if (!is_handed_ && !is_done_) {
      wait_here(time == Milliseconds::zero() ? timeout() : time);
    }
  }
  wait_until_done(time);
  if (const auto failed = error()) {
    std::rethrow_exception(failed);
  }
  if (on_device_.is_enqueued()) {
    wait_for_stream(time);
  } else {
    on_device_.block_current();
  }
}

void Operation::wait_for_stream(Milliseconds time) {
  if (on_device_.is_captured()) {
    if (is_capturing(*on_device_.device())) {
      on_device_.block_current();
    }
    return;
  }
  const auto deadline = after(Clock::now(), time);
  for (std::chrono::microseconds nap{10};
       time > Milliseconds::zero() && !on_device_.are_ends_done();
       nap = std::min(nap * 2, kLongestNap)) {
    if (Clock::now() > deadline) {
      end_overdue(time);
    }
    if (group_->fate().dead()) {
      break;
    }
    std::this_thread::sleep_for(nap);
  }
  if (group_->fate().dead() && !on_device_.are_ends_done()) {
    fail(group_->fate().why());
  }
  on_device_.block_current();
}

void Operation::wait_until_done(Milliseconds time) {
  const auto deadline =
      time == Milliseconds::zero() ? Clock::time_point::max() : after(Clock::now(), time);
  std::unique_lock lock(mutex_);
  while (!is_done_) {
    const auto next_look = next_look_for_signals();
    done_.wait_until(lock, std::min(deadline, next_look), [this] { return is_done_.load(); });
    if (is_done_) {
      return;
    }
    lock.unlock();
    if (Clock::now() >= deadline) {
      end_overdue(time);
      fail(group_->fate().why());
    }
    run_signal_handlers();
    lock.lock();
  }
}

}  // namespace torch_tern
