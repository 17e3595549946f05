// SPDX-License-Identifier: Apache-2.0
// Operations: waits for their requests, and ends of waits.
#include <pybind11/pybind11.h>

#include <algorithm>

#include "alarm_request.hpp"
#include "extensions.hpp"
#include "operation.hpp"
#include "progress.hpp"
#include "signals.hpp"

namespace torch_tern {

namespace {

// After a peer's end, the time for its data under way.
constexpr Milliseconds kMoment{300};

}  // namespace

bool Operation::waits_in_vain(int member, const Group::EndOfRank& end) const {
  if (Clock::now() - waits_since_ < kMoment) {
    return false;
  }
  if (peer_ && *peer_ != MPI_ANY_SOURCE) {
    return *peer_ == member;
  }
  return end.has_died || (!peer_ && sequence_ >= end.calls);
}

// Each wait inside MPI ends with a request or an alarm.
void Operation::wait_for_requests(Milliseconds time) {
  auto deadline = after(Clock::now(), time);
  waits_since_ = Clock::now();
  while (has_requests()) {
    const auto next_look = next_look_for_signals();
    wait_until(std::min(deadline, next_look));
    if (Clock::now() >= deadline && has_requests()) {
      group_->end_overdue(overdue(time));
      deadline = Clock::time_point::max();
    }
    if (group_->is_dead() && has_requests() && !extensions().comm_interrupt) {
      Progress::keep_for_ever(shared_from_this());  // no MPIX_Comm_interrupt
      fail(group_->why_dead());
    }
    if (Clock::now() >= next_look) {
      run_signal_handlers();
    }
  }
  requests_.clear();
}

// Until all requests are complete, the deadline, or the group's end under a library without
// MPIX_Comm_interrupt.
void Operation::wait_until(Clock::time_point deadline) {
  AlarmRequest alarm;
  const Group::Alarm link(*group_, *this, [&] {
    if (!extensions().comm_interrupt) {
      alarm.ring();
    }
  });
  const Timer timer(deadline, [&] { alarm.ring(); });
  const int count = static_cast<int>(requests_.size());
  std::vector<MPI_Request> all = requests_;
  all.push_back(alarm.request());
  while (has_requests()) {
    int index = MPI_UNDEFINED;
    MPI_Status status;
    const int code = MPI_Waitany(count + 1, all.data(), &index, &status);
    if (index == count) {
      alarm.was_waited_for();
      return;
    }
    requests_[index] = all[index];
    check_call(code);
    status_ = status;
  }
}

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
    wait_for_requests(time);
  } catch (const pybind11::error_already_set&) {  // of the handler of a signal
    give_up_waiting();
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  conclude(error);
}

// The call goes on, as does a future in another thread's hands.
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
      wait_here(time == Milliseconds::zero() ? timeout_ : time);
    }
  }
  wait_until_done(time);
  if (const auto failed = error()) {
    std::rethrow_exception(failed);
  }
  if (is_enqueued()) {
    wait_for_stream(time);
  } else if (ends_are_done_) {
    ends_are_done_->block(current_stream(*device_));
  }
}

// Another thread waits for the requests, until its own deadline or the caller's.
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
      group_->end_overdue(overdue(time));
      fail(group_->why_dead());
    }
    run_signal_handlers();
    lock.lock();
  }
}

}  // namespace torch_tern
