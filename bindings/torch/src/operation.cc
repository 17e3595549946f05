// SPDX-License-Identifier: Apache-2.0
// The life of an operation: begun, tested or waited for, concluded.
#include "operation.hpp"

#include <ATen/core/grad_mode.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "device_queue.hpp"
#include "extensions.hpp"
#include "progress.hpp"

namespace torch_tern {

namespace {

// Of one of these requests, where a call on them all has failed.
int error_among(int code, const std::vector<MPI_Status>& statuses) {
  for (const MPI_Status& status : statuses) {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      return status.MPI_ERROR;
    }
  }
  return code;
}

// Peers may still read and write the memory of a call that was ended: nothing frees it.
void leak(std::vector<at::Tensor>& tensors) { new std::vector<at::Tensor>(std::move(tensors)); }

}  // namespace

Operation::Operation(std::shared_ptr<Group> group, const char* words, Milliseconds wanted,
                     bool is_sync)
    : group_(std::move(group)),
      words_(words),
      timeout_(group_->timeout_of(wanted, ending_)),
      is_sync_(is_sync) {
  group_->refuse_dead();
  group_->note_begin(words_, begun_);
  status_.MPI_SOURCE = -1;
}

// Not concluded: it was refused when some of its calls had been made, and MPI goes on with these.
Operation::~Operation() {
  if (is_done_ || is_forked()) {
    return;
  }
  if (requests_.empty()) {
    group_->note_end();
    if (is_numbered_) {
      group_->take_back(sequence_);
    }
  } else {
    leak(held_);
  }
}

std::string Operation::name() const {
  return std::string(words_) + (peer_ ? "" : " number " + std::to_string(sequence_)) +
         " of group \"" + group_->name() + "\"";
}

void Operation::describe(const Description& description) {
  if (compares_calls()) {
    std::vector<Description> all(group_->ranks().size());
    const int bytes = sizeof(Description);
    make(MPI_Iallgather, static_cast<const void*>(&description), bytes, MPI_BYTE,
         static_cast<void*>(all.data()), bytes, MPI_BYTE, group_->comm());
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] != all.front()) {
        fail("collective number " + std::to_string(sequence_) + " of group \"" + group_->name() +
             "\": rank 0 calls " + all.front().words() + ", but rank " + std::to_string(rank) +
             " calls " + all[rank].words() +
             " (TERN_CHECK=collective, or TORCH_DISTRIBUTED_DEBUG=DETAIL)");
      }
    }
  }
  description_ = description;
}

std::string Operation::overdue(Milliseconds time) const {
  int rank = 0;
  MPI_Comm_rank(group_->comm(), &rank);
  return name() + " has not ended on rank " + std::to_string(rank) + " of " +
         std::to_string(group_->ranks().size()) + " before the timeout of " +
         std::to_string(time.count()) + " ms: a rank has not called it, or has died";
}

std::unique_ptr<Timer> Operation::watch() {
  return std::make_unique<Timer>(after(Clock::now(), timeout_), [this] {
    const std::string words = overdue(timeout_);
    group_->end_overdue(words);
    if (!extensions().comm_interrupt) {
      std::fprintf(stderr,
                   "tern: %s. This libmpi_abi.so.1 cannot end a call under way: the process ends\n",
                   words.c_str());
      _exit(1);
    }
  });
}

std::exception_ptr Operation::error_of(int code) const {
  const std::string text = code == MPI_SUCCESS ? std::string() : sentence(code);
  const bool is_differing = is_truncated(code) || text.find("different sizes") != std::string::npos;
  const std::string own = is_differing && description_.call[0] != '\0'
                              ? ". This rank calls " + description_.words() +
                                    "; TERN_CHECK=collective compares the calls of all ranks"
                              : "";
  if (code != MPI_SUCCESS && is_fatal(code)) {  // a peer has died, or has left a collective
    group_->end_broken(std::string(words_) + " failed: " + text + own);
  }
  if (group_->is_dead()) {
    return failure(group_->why_dead());
  }
  if (!own.empty()) {
    return failure(text + own);
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

void Operation::set_sequence(std::uint64_t sequence) {
  sequence_ = sequence;
  is_numbered_ = true;
  last_call.sequence.store(static_cast<std::int64_t>(sequence), std::memory_order_relaxed);
}

void Operation::set_value(c10::IValue value, std::vector<at::Tensor> tensors) {
  value_ = std::move(value);
  tensors_ = std::move(tensors);
}

void Operation::use(const at::Device& device) {
  if (device.is_cpu()) {
    return;
  }
  TORCH_CHECK_VALUE(!device_ || *device_ == device, "tern: ", words_,
                    " got tensors of several devices: ", *device_, " and ", device);
  if (may_enqueue_ && StreamComm::is_possible(device)) {
    use_stream_comm(device);
  } else {
    refuse_capture(
        device, words_,
        may_enqueue_ ? StreamComm::why_impossible(device) : "messages are not put into streams");
  }
  device_ = device;
}

bool Operation::must_queue() {
  is_queued_ = is_queued_ || device_ || group_->queued > 0;
  return is_queued_;
}

// A blocking call waits here for what one in flight waits for in the queue.
void Operation::await_turn() {
  if (group_->queued > 0) {
    DeviceQueue::get().await_begun(*group_);
  }
  if (!device_) {
    return;
  }
  c10::Event ready(device_->type());
  ready.record(current_stream(*device_));
  for (std::chrono::microseconds nap{10}; !ready.query(); nap = std::min(nap * 2, kLongestNap)) {
    if (group_->is_dead() || Clock::now() > after(begun_, timeout_)) {
      group_->end_overdue(overdue(timeout_));
      group_->refuse_dead();
    }
    std::this_thread::sleep_for(nap);
  }
}

void Operation::begin() {
  if (is_enqueued()) {
    enqueue();
  } else if (is_queued_) {
    if (device_) {
      data_is_ready_.emplace(device_->type());
      data_is_ready_->record(current_stream(*device_));
    }
    is_handed_ = true;
    DeviceQueue::get().push(shared_from_this());
  } else if (requests_.empty()) {
    conclude(nullptr);
  }
}

bool Operation::is_ready() {
  return group_->is_dead() || !data_is_ready_ || data_is_ready_->query();
}

void Operation::make_queued_calls() {
  try {
    group_->refuse_dead();
    for (const auto& call : queued_calls_) {
      call();
    }
    queued_calls_.clear();
  } catch (...) {
    return conclude(std::current_exception());
  }
  if (requests_.empty()) {
    conclude(nullptr);
  } else {
    Progress::get().submit(shared_from_this());
  }
}

// Steps on tensors of a device go into a stream of their own, which what follows waits for.
void Operation::run_ends(std::exception_ptr& error) {
  try {
    const at::NoGradGuard no_grad;
    for (const auto& step : ends_) {
      if (!error) {
        step();
      }
    }
    if (device_ && (!ends_.empty() || is_enqueued())) {
      ends_are_done_.emplace(device_->type());
      ends_are_done_->record(current_stream(*device_));
    }
  } catch (...) {
    error = std::current_exception();
  }
  ends_.clear();
}

bool Operation::test_here() {
  int all = 0;
  int code = MPI_SUCCESS;
  if (requests_.size() == 1) {
    code = MPI_Test(requests_.data(), &all, &status_);
  } else {
    std::vector<MPI_Status> statuses(requests_.size());
    code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses.data());
    code = error_among(code, statuses);
  }
  if (code != MPI_SUCCESS || all) {
    conclude(code == MPI_SUCCESS ? nullptr : error_of(code));
  }
  return is_done_;
}

bool Operation::is_complete() {
  if (is_done_) {
    return is_done_on_device();
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
  group_->note_end();
  for (const auto& extension : ending_) {
    extension->is_over = true;
  }
  if (completion_hook_ && is_enqueued() && !error && !group_->is_dead()) {
    completion_hook_();
  }
}

bool Operation::has_requests() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
}

void Operation::conclude(std::exception_ptr error) {
  std::optional<c10::StreamGuard> on_own_stream;
  if (device_) {
    if (!ends_stream_) {
      ends_stream_ = new_stream(*device_);
    }
    on_own_stream.emplace(*ends_stream_);
  }
  run_ends(error);
  if (!is_enqueued() || is_captured_ || error) {
    settle(error);
  }
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    error_ = error;
    is_done_ = true;
    future = future_;
    if (group_->is_dead() || (error && has_requests())) {
      leak(held_);
    } else if (ends_are_done_ && !is_captured_) {
      DeviceQueue::get().keep_until_done(shared_from_this(), std::move(held_));
    }
    held_.clear();
    done_.notify_all();
  }
  if (completion_hook_ && !is_enqueued() && !error) {
    completion_hook_();
  }
  if (future) {
    error ? future->setErrorIfNeeded(error) : give_value(future);
  }
}

// Who asks may hold Python's lock, so nothing here waits for another thread's wait: that one
// completes the future at its end.
c10::intrusive_ptr<c10::ivalue::Future> Operation::future() {
  std::unique_lock waiting(waiting_, std::defer_lock);
  while (!waiting.try_lock()) {
    const std::lock_guard lock(mutex_);
    if (future_ || is_waited_for_) {
      return future_or_new();
    }
    std::this_thread::yield();  // a test ends at once
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

// Under mutex_.
c10::intrusive_ptr<c10::ivalue::Future> Operation::future_or_new() {
  if (!future_) {
    future_ = make_future();
    if (is_done_) {
      error_ ? future_->setError(error_) : give_value(future_);
    }
  }
  return future_;
}

c10::intrusive_ptr<c10::ivalue::Future> Operation::make_future() const {
  std::vector<c10::Device> devices;
  if (device_) {
    devices.push_back(*device_);
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
  timer_ = std::make_unique<Timer>(after(begun_, timeout_), [this] {
    if (is_done_ && is_done_on_device()) {
      return;
    }
    const std::string words = overdue(timeout_);
    group_->end_overdue(words);
    if (is_enqueued()) {  // the program may wait for its stream, not for this
      std::fprintf(stderr, "tern: %s\n", group_->why_dead().c_str());
    }
  });
  waits_since_ = Clock::now();
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
