// SPDX-License-Identifier: Apache-2.0
// One collective or message, from the call (call.hpp) and the MPI calls (issue.hpp) to completion.
// Why: a program may drop the Work before the data has moved.
// Lifetime: held by the Work, and by the progress thread once a future exists or the Work is gone.
// Threads: one thread begins the call, then any.
#ifndef TORCH_TERN_OPERATION_HPP
#define TORCH_TERN_OPERATION_HPP

#include <ATen/core/ivalue.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "issue.hpp"

namespace torch_tern {

class Operation : public Issue, public std::enable_shared_from_this<Operation> {
 public:
  // `words` name the call in messages. `begin` completes a synchronous operation.
  Operation(std::shared_ptr<Group> group, const char* words, Milliseconds wanted, bool is_sync)
      : Issue(std::move(group), words, wanted), is_sync_(is_sync) {}
  ~Operation();

  void set_value(c10::IValue value, std::vector<at::Tensor> tensors);
  void set_completion_hook(std::function<void()> hook) { completion_hook_ = std::move(hook); }
  void begin();
  bool is_sync() const { return is_sync_; }

  bool is_complete();
  bool has_succeeded() const { return is_done_ && !error() && on_device_.is_done(); }
  std::exception_ptr error() const;
  // Throws the operation's error. A `time` of zero means the operation's timeout.
  void wait(Milliseconds time);
  c10::intrusive_ptr<c10::ivalue::Future> future();
  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  void release();
  // Like release(), but never blocks on another thread's wait.
  void release_at_end();

  bool is_ready() { return group_->fate().dead() || on_device_.is_ready(); }
  void make_queued_calls();
  // settle() takes effect once, after the device is done: ends the deadline and calls the hook.
  void settle(const std::exception_ptr& error);

  void conclude(std::exception_ptr error);
  // After guard(), the deadline and the group's end call `kick`.
  void guard(std::function<void()> kick);

 private:
  void put_into_stream();
  void wait_here(Milliseconds time);
  void give_up_waiting();
  void wait_until_done(Milliseconds time);
  void wait_for_stream(Milliseconds time);
  bool test_here();
  void hand_over();
  void give_value(const c10::intrusive_ptr<c10::ivalue::Future>& future);
  c10::intrusive_ptr<c10::ivalue::Future> make_future() const;
  c10::intrusive_ptr<c10::ivalue::Future> future_or_new();

  const bool is_sync_;
  std::function<void()> completion_hook_;
  c10::IValue value_;
  std::vector<at::Tensor> tensors_;
  std::atomic<bool> is_settled_{false};

  std::mutex waiting_;  // held while a thread tests or waits for the requests
  bool is_handed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  bool is_waited_for_ = false;
  std::atomic<bool> is_done_{false};
  std::exception_ptr error_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Group::Alarm> alarm_;
};

}  // namespace torch_tern

#endif
