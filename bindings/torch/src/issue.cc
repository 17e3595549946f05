// SPDX-License-Identifier: Apache-2.0
#include "issue.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <thread>

#include "alarm_request.hpp"
#include "device_queue.hpp"
#include "signals.hpp"

namespace torch_tern {

namespace {

int error_among(int code, const std::vector<MPI_Status>& statuses) {
  for (const MPI_Status& status : statuses) {
    if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
      return status.MPI_ERROR;
    }
  }
  return code;
}

}  // namespace

Issue::Issue(std::shared_ptr<Group> group, const char* words, Milliseconds wanted)
    : Call(std::move(group), words, wanted), on_device_(*this) {
  status_.MPI_SOURCE = -1;
}

void Issue::describe(const Description& description) {
  if (compares_calls()) {
    std::vector<Description> all(group_->size());
    const int bytes = sizeof(Description);
    make(MPI_Iallgather, static_cast<const void*>(&description), bytes, MPI_BYTE,
         static_cast<void*>(all.data()), bytes, MPI_BYTE, group_->comm());
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] != all.front()) {
        fail("collective number " + std::to_string(sequence()) + " of group \"" + group_->name() +
             "\": rank 0 calls " + all.front().words() + ", but rank " + std::to_string(rank) +
             " calls " + all[rank].words() +
             " (TERN_CHECK=collective, or TORCH_DISTRIBUTED_DEBUG=DETAIL)");
      }
    }
  }
  description_ = description;
}

bool Issue::must_queue() {
  is_queued_ = is_queued_ || on_device_.device() || group_->queued > 0;
  return is_queued_;
}

// await_turn() blocks as long as the device queue would delay a nonblocking call.
void Issue::await_turn() {
  if (group_->queued > 0) {
    DeviceQueue::get().await_begun(*group_);
  }
  if (!on_device_.device()) {
    return;
  }
  on_device_.record_ready();
  for (std::chrono::microseconds nap{10}; !on_device_.is_ready();
       nap = std::min(nap * 2, kLongestNap)) {
    if (group_->fate().dead() || Clock::now() > deadline()) {
      end_overdue(timeout());
      group_->refuse_dead();
    }
    std::this_thread::sleep_for(nap);
  }
}

// Without a stream, make_queued() waits for the data. The calls then complete before return.
void Issue::make_queued() {
  std::unique_ptr<Timer> timer;
  if (on_device_.is_enqueued() && !on_device_.stream_comm()->stream()) {
    await_turn();
    timer = watch();
  }
  for (const auto& call : queued_calls_) {
    call();
  }
  queued_calls_.clear();
}

bool Issue::has_requests() const {
  return std::any_of(requests_.begin(), requests_.end(),
                     [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
}

int Issue::test(bool& are_complete) {
  int all = 0;
  int code = MPI_SUCCESS;
  if (requests_.size() == 1) {
    code = MPI_Test(requests_.data(), &all, &status_);
  } else {
    std::vector<MPI_Status> statuses(requests_.size());
    code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses.data());
    code = error_among(code, statuses);
  }
  are_complete = all;
  return code;
}

std::exception_ptr Issue::wait_for_requests(Milliseconds time) {
  auto deadline = after(Clock::now(), time);
  note_wait();
  while (has_requests()) {
    const auto next_look = next_look_for_signals();
    if (const int code = wait_until(std::min(deadline, next_look)); code != MPI_SUCCESS) {
      return error_of(code);
    }
    if (Clock::now() >= deadline && has_requests()) {
      end_overdue(time);
      deadline = Clock::time_point::max();
    }
    if (group_->fate().dead() && has_requests() && !extensions().comm_interrupt) {
      return failure(group_->fate().why());
    }
    if (Clock::now() >= next_look) {
      run_signal_handlers();
    }
  }
  requests_.clear();
  return nullptr;
}

// The group's end also ends wait_until() if the library lacks MPIX_Comm_interrupt.
int Issue::wait_until(Clock::time_point deadline) {
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
      break;
    }
    requests_[index] = all[index];
    if (code != MPI_SUCCESS) {
      return code;
    }
    status_ = status;
  }
  return MPI_SUCCESS;
}

// Steps on device tensors run in the operation's stream, before the final event.
void Issue::run_ends(std::exception_ptr& error) {
  const auto failed = attempt([&] {
    const at::NoGradGuard no_grad;
    for (const auto& step : ends_) {
      if (!error) {
        step();
      }
    }
    if (on_device_.device() && (!ends_.empty() || on_device_.is_enqueued())) {
      on_device_.record_end();
    }
  });
  if (failed) {
    error = failed;
  }
  ends_.clear();
}

}  // namespace torch_tern
