// SPDX-License-Identifier: Apache-2.0
// The life of an operation: begun, tested or waited for, concluded.
#include "operation.hpp"

#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <cstdio>

#include "alarm_request.hpp"
#include "extensions.hpp"
#include "progress.hpp"

namespace torch_tern {

namespace {

// A library that cannot end a call under way can end a wait: who asks for less time than this gets
// waits.
constexpr Milliseconds kLongTimeout = std::chrono::minutes(5);

bool may_block(bool is_sync, Milliseconds timeout) {
  return is_sync && (extensions().comm_interrupt || timeout >= kLongTimeout);
}

Clock::time_point after(Clock::time_point begin, Milliseconds time) {
  return time > std::chrono::hours(24 * 365) ? Clock::time_point::max() : begin + time;
}

}  // namespace

Operation::Operation(std::shared_ptr<Group> group, const char* words, Milliseconds wanted,
                     bool is_sync)
    : group_(std::move(group)),
      words_(words),
      timeout_(group_->timeout_of(wanted, ending_)),
      is_blocking_(may_block(is_sync, timeout_)) {
  group_->refuse_dead();
  ++group_->under_way;
  status_.MPI_SOURCE = -1;
}

// Not concluded: it was refused when some of its calls had been made, and MPI goes on with these.
Operation::~Operation() {
  if (is_done_ || is_forked()) {
    return;
  }
  if (requests_.empty()) {
    --group_->under_way;
  } else {
    new std::vector<at::Tensor>(std::move(held_));
  }
}

std::string Operation::overdue(Milliseconds time) const {
  int rank = 0;
  MPI_Comm_rank(group_->comm(), &rank);
  return std::string(words_) + " number " + std::to_string(sequence_) + " of group \"" +
         group_->name() + "\" has not ended on rank " + std::to_string(rank) + " of " +
         std::to_string(group_->ranks().size()) + " before the timeout of " +
         std::to_string(time.count()) + " ms: a rank has not called it, or has died";
}

std::unique_ptr<Timer> Operation::watch() {
  return std::make_unique<Timer>(after(Clock::now(), timeout_), [this] {
    const std::string words = overdue(timeout_);
    group_->end(words, true);
    if (!extensions().comm_interrupt) {
      std::fprintf(stderr,
                   "tern: %s. This libmpi_abi.so.1 cannot end a call under way: the process ends\n",
                   words.c_str());
      _exit(1);
    }
  });
}

std::exception_ptr Operation::error_of(int code) const {
  if (group_->is_dead()) {
    return failure(group_->why_dead());
  }
  try {
    check(code);
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void Operation::check_call(int code) const {
  if (code != MPI_SUCCESS) [[unlikely]] {
    std::rethrow_exception(error_of(code));
  }
}

void Operation::set_value(c10::IValue value, std::vector<at::Tensor> tensors) {
  value_ = std::move(value);
  tensors_ = std::move(tensors);
}

void Operation::begin() {
  if (requests_.empty()) {
    conclude(nullptr);
  }
}

bool Operation::test_here() {
  int all = 0;
  int code = MPI_SUCCESS;
  if (requests_.size() == 1) {
    code = MPI_Test(requests_.data(), &all, &status_);
  } else {
    std::vector<MPI_Status> statuses(requests_.size());
    code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses.data());
    for (const MPI_Status& status : statuses) {
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
        code = status.MPI_ERROR;
      }
    }
  }
  if (code != MPI_SUCCESS || all) {
    conclude(code == MPI_SUCCESS ? nullptr : error_of(code));
  }
  return is_done_;
}

bool Operation::is_complete() {
  if (is_done_) {
    return true;
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

void Operation::wait_for_requests(Milliseconds time) {
  AlarmRequest alarm;
  const Group::Alarm link(*group_, [&] { alarm.ring(); });
  const Timer timer(after(Clock::now(), time), [this, time] { group_->end(overdue(time), true); });
  std::vector<MPI_Request> all = requests_;
  all.push_back(alarm.request());
  for (std::size_t left = requests_.size(); left > 0; --left) {
    int index = MPI_UNDEFINED;
    MPI_Status status;
    const int code = MPI_Waitany(static_cast<int>(all.size()), all.data(), &index, &status);
    if (index == static_cast<int>(requests_.size())) {
      alarm.was_waited_for();
      Progress::keep_for_ever(shared_from_this());
      conclude(failure(group_->why_dead()));
      return;
    }
    check_call(code);
    status_ = status;
  }
  requests_.clear();
  conclude(nullptr);
}

void Operation::wait_here(Milliseconds time) {
  if (test_here()) {
    return;
  }
  try {
    wait_for_requests(time);
  } catch (...) {
    conclude(std::current_exception());
  }
}

void Operation::wait(Milliseconds time) {
  if (!is_done_) {
    refuse_fork();
    std::unique_lock waiting(waiting_);
    if (!is_handed_ && !is_done_) {
      wait_here(time == Milliseconds::zero() ? timeout_ : time);
    }
  }
  std::unique_lock lock(mutex_);
  if (time == Milliseconds::zero()) {
    done_.wait(lock, [this] { return is_done_.load(); });
  } else if (!done_.wait_for(lock, time, [this] { return is_done_.load(); })) {
    lock.unlock();
    group_->end(overdue(time), true);
    fail(group_->why_dead());
  }
  if (error_) {
    std::rethrow_exception(error_);
  }
}

void Operation::conclude(std::exception_ptr error) {
  try {
    const at::NoGradGuard no_grad;
    for (const auto& step : ends_) {
      if (!error) {
        step();
      }
    }
  } catch (...) {
    error = std::current_exception();
  }
  ends_.clear();
  timer_.reset();
  alarm_.reset();
  --group_->under_way;
  for (const auto& extension : ending_) {
    extension->is_over = true;
  }
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
    is_done_ = true;
    future = future_;
    if (!group_->is_dead()) {
      held_.clear();
    }
    done_.notify_all();
  }
  if (completion_hook_) {
    completion_hook_();
  }
  if (future) {
    error ? future->setErrorIfNeeded(error) : future->markCompleted(value_);
  }
}

c10::intrusive_ptr<c10::ivalue::Future> Operation::future() {
  const std::lock_guard waiting(waiting_);
  {
    const std::lock_guard lock(mutex_);
    if (future_) {
      return future_;
    }
    future_ =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    if (is_done_) {
      error_ ? future_->setError(error_) : future_->markCompleted(value_);
      return future_;
    }
  }
  hand_over();
  return future_;
}

void Operation::hand_over() {
  if (!is_handed_) {
    is_handed_ = true;
    Progress::get().submit(shared_from_this());
  }
}

void Operation::guard(std::function<void()> kick) {
  timer_ = std::make_unique<Timer>(after(begun_, timeout_),
                                   [this] { group_->end(overdue(timeout_), true); });
  alarm_ = std::make_unique<Group::Alarm>(*group_, std::move(kick));
}

void Operation::release() {
  const std::lock_guard waiting(waiting_);
  if (!is_done_ && !is_forked() && !calls_no_more()) {
    hand_over();
  }
}

}  // namespace torch_tern
