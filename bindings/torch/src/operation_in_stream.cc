// SPDX-License-Identifier: Apache-2.0
// Operations that are put into a stream: what differs in their lives.
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <thread>

#include "device_queue.hpp"
#include "operation.hpp"
#include "stream_comm.hpp"

namespace torch_tern {

// The first time it waits for all members: their calls before this one were made in one order, too.
void Operation::use_stream_comm(const at::Device& device) {
  if (!group_->stream_comm()) {
    refuse_capture(device, words_,
                   "the first collective of a group on a device prepares its stream. Make one "
                   "before the capture");
    auto timer = watch();
    try {
      group_->open_stream_comm(device);
    } catch (...) {
      group_->refuse_dead();
      throw;
    }
  }
  const StreamComm& made = *group_->stream_comm();
  TORCH_CHECK_VALUE(made.device() == device, "tern: ", words_, " got a tensor on ", device,
                    ", but the collectives of group \"", group_->name(), "\" are on ",
                    made.device(), ": a group serves one device of each rank");
  if (!made.stream()) {
    refuse_capture(device, words_, made.why_no_stream());
  }
  stream_comm_ = &made;
}

// The current stream goes on at once; the group's stream has the calls, and what follows them.
void Operation::enqueue() {
  const c10::Stream caller = current_stream(*device_);
  is_captured_ = is_capturing(*device_);
  is_handed_ = true;
  ends_stream_ = stream_comm_->stream().value_or(caller);
  const bool is_apart = *ends_stream_ != caller;
  if (is_apart) {
    c10::Event ready(device_->type());
    ready.record(caller);
    ready.block(*ends_stream_);
  }
  if (!is_captured_) {
    guard([] {});
  }
  std::exception_ptr error;
  {
    const c10::StreamGuard in_own(*ends_stream_);
    try {
      put_into_stream();
    } catch (...) {
      error = std::current_exception();
    }
  }
  queued_calls_.clear();
  conclude(error);
  if (is_captured_ && is_apart) {  // what was forked is joined, whatever the program does
    ends_are_done_->block(caller);
  }
  if (error) {
    std::rethrow_exception(error);
  }
}

// Without a stream the calls are made when the data is there, and are over when they return.
void Operation::put_into_stream() {
  std::unique_ptr<Timer> timer;
  if (!stream_comm_->stream()) {
    await_turn();
    timer = watch();
  }
  for (const auto& call : queued_calls_) {
    call();
  }
}

void Operation::wait_for_stream(Milliseconds time) {
  if (is_captured_) {
    if (is_capturing(*device_)) {
      ends_are_done_->block(current_stream(*device_));
    }
    return;
  }
  const auto deadline = after(Clock::now(), time);
  for (std::chrono::microseconds nap{10}; time > Milliseconds::zero() && !are_ends_done();
       nap = std::min(nap * 2, kLongestNap)) {
    if (Clock::now() > deadline) {
      group_->end_overdue(overdue(time));
    }
    if (group_->is_dead()) {
      break;
    }
    std::this_thread::sleep_for(nap);
  }
  if (group_->is_dead() && !are_ends_done()) {
    fail(group_->why_dead());
  }
  ends_are_done_->block(current_stream(*device_));
}

void Operation::give_value(const c10::intrusive_ptr<c10::ivalue::Future>& future) const {
  std::optional<c10::StreamGuard> in_own;
  if (ends_stream_) {
    in_own.emplace(*ends_stream_);  // the future's users wait for what it has
  }
  future->markCompleted(value_);
}

}  // namespace torch_tern
