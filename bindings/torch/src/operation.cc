// SPDX-License-Identifier: Apache-2.0
#include "operation.hpp"

#include <cstdio>
#include <thread>

#include "device_queue.hpp"
#include "progress.hpp"

namespace torch_tern {

// A refused operation has no conclusion. Calls made before the refusal continue in MPI.
Operation::~Operation() {
  if (is_done_ || is_forked()) {
    return;
  }
  if (requests().empty()) {
    take_back();
  } else {
    leak_held();
  }
}

void Operation::set_value(c10::IValue value, std::vector<at::Tensor> tensors) {
  value_ = std::move(value);
  tensors_ = std::move(tensors);
}

void Operation::begin() {
  if (on_device_.is_enqueued()) {
    put_into_stream();
  } else if (is_queued()) {
    if (on_device_.device()) {
      on_device_.record_ready();
    }
    is_handed_ = true;
    DeviceQueue::get().push(shared_from_this());
  } else if (requests().empty()) {
    conclude(nullptr);
  }
}

void Operation::put_into_stream() {
  is_handed_ = true;
  on_device_.fork();
  if (!on_device_.is_captured()) {
    guard([] {});
  }
  const auto error = attempt([this] {
    const auto in_own = on_device_.in_own_stream();
    make_queued();
  });
  conclude(error);
  on_device_.join();
  if (error) {
    std::rethrow_exception(error);
  }
}

void Operation::make_queued_calls() {
  const auto error = attempt([this] {
    group_->refuse_dead();
    make_queued();
  });
  if (error || requests().empty()) {
    conclude(error);
  } else {
    Progress::get().submit(shared_from_this());
  }
}

bool Operation::test_here() {
  bool are_complete = false;
  const int code = test(are_complete);
  if (code != MPI_SUCCESS || are_complete) {
    conclude(code == MPI_SUCCESS ? nullptr : error_of(code));
  }
  return is_done_;
}

bool Operation::is_complete() {
  if (is_done_) {
    return on_device_.is_done();
  }
  const std::unique_lock lock(waiting_, std::try_to_lock);
  if (!lock || is_handed_ || is_done_ || is_forked()) {
    return is_done_;
  }
  return test_here();
}

std::exception_ptr Operation::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Operation::settle(const std::exception_ptr& error) {
  if (is_settled_.exchange(true)) {
    return;
  }
  timer_.reset();
  alarm_.reset();
  note_end();
  if (completion_hook_ && on_device_.is_enqueued() && !error && !group_->fate().dead()) {
    completion_hook_();
  }
}

void Operation::conclude(std::exception_ptr error) {
  const auto in_own = on_device_.in_own_stream();
  run_ends(error);
  if (!on_device_.is_enqueued() || on_device_.is_captured() || error) {
    settle(error);
  }
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
    is_done_ = true;
    future = future_;
    if (group_->fate().dead() || (error && has_requests())) {
      leak_held();
    } else if (on_device_.has_end() && !on_device_.is_captured()) {
      DeviceQueue::get().keep_until_done(shared_from_this(), std::move(held_));
    }
    held_.clear();
    done_.notify_all();
  }
  if (completion_hook_ && !on_device_.is_enqueued() && !error) {
    completion_hook_();
  }
  if (future) {
    error ? future->setErrorIfNeeded(error) : give_value(future);
  }
}

// The caller may hold the GIL, so future() must not block on a waiting thread. That thread
// completes the future.
c10::intrusive_ptr<c10::ivalue::Future> Operation::future() {
  std::unique_lock waiting(waiting_, std::defer_lock);
  while (!waiting.try_lock()) {
    const std::lock_guard lock(mutex_);
    if (future_ || is_waited_for_) {
      return future_or_new();
    }
    std::this_thread::yield();
  }
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = !future_;
    future_or_new();
    if (!is_new || is_done_) {
      return future_;
    }
  }
  hand_over();
  return future_;
}

// The caller holds mutex_.
c10::intrusive_ptr<c10::ivalue::Future> Operation::future_or_new() {
  if (!future_) {
    future_ = make_future();
    if (is_done_) {
      error_ ? future_->setError(error_) : give_value(future_);
    }
  }
  return future_;
}

void Operation::give_value(const c10::intrusive_ptr<c10::ivalue::Future>& future) {
  const auto in_own = on_device_.in_own_stream();
  future->markCompleted(value_);
}

c10::intrusive_ptr<c10::ivalue::Future> Operation::make_future() const {
  std::vector<c10::Device> devices;
  if (on_device_.device()) {
    devices.push_back(*on_device_.device());
  }
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                  std::move(devices));
}

void Operation::hand_over() {
  if (!is_handed_ && !test_here()) {
    is_handed_ = true;
    Progress::get().submit(shared_from_this());
  }
}

void Operation::guard(std::function<void()> kick) {
  timer_ = std::make_unique<Timer>(deadline(), [this] {
    if (is_done_ && on_device_.is_done()) {
      return;
    }
    end_overdue(timeout());
    if (on_device_.is_enqueued()) {  // the program may wait only for the stream
      std::fprintf(stderr, "tern: %s\n", group_->fate().why().c_str());
    }
  });
  note_wait();
  alarm_ = std::make_unique<Group::Alarm>(*group_, *this, std::move(kick));
}

void Operation::release_at_end() {
  const std::unique_lock waiting(waiting_, std::try_to_lock);
  if (waiting && !is_done_) {
    hand_over();
  }
}

void Operation::release() {
  const std::lock_guard waiting(waiting_);
  if (!is_done_ && !is_forked() && !calls_no_more()) {
    hand_over();
  }
}

}  // namespace torch_tern
