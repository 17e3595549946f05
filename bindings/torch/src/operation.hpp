// SPDX-License-Identifier: Apache-2.0
// One call of a collective or of point to point: its MPI requests, its tensors, and what is done
// when they are complete. Why: PyTorch's Work may be dropped before the data has moved; the
// operation lives until it has. Lifetime: held by its Work, and by the progress thread once a
// future is wanted or the Work is gone. Threads: begun by one; test, wait, future from any.
#ifndef TORCH_TERN_OPERATION_HPP
#define TORCH_TERN_OPERATION_HPP

#include <mpi.h>

#include <ATen/core/ivalue.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "errors.hpp"
#include "group.hpp"
#include "timer.hpp"

namespace torch_tern {

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  // `words` name the call in sentences. A synchronous operation is complete when `begin` has
  // returned.
  Operation(std::shared_ptr<Group> group, const char* words, Milliseconds wanted, bool is_sync);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // The call's blocking form, or its nonblocking one, which has a request behind the same
  // arguments.
  template <class Blocking, class Nonblocking, class... Arguments>
  void issue(Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    if (is_blocking_) {
      auto timer = watch();
      check_call(blocking(arguments...));
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      check(nonblocking(arguments..., &request));
      requests_.push_back(request);
    }
  }
  void add(MPI_Request request) { requests_.push_back(request); }

  // MPI reads or writes this tensor's memory until the end.
  void hold(const at::Tensor& tensor) { held_.push_back(tensor); }
  // Runs when all requests are complete, in the order of these calls.
  void at_end(std::function<void()> step) { ends_.push_back(std::move(step)); }
  // What Work::result and the future give.
  void set_value(c10::IValue value, std::vector<at::Tensor> tensors);
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  void set_completion_hook(std::function<void()> hook) { completion_hook_ = std::move(hook); }
  // All calls have been made.
  void begin();

  bool is_complete();
  bool has_succeeded() const { return is_done_ && !error_; }
  std::exception_ptr error() const;
  // Throws what went wrong. Time zero: what the operation has.
  void wait(Milliseconds time);
  c10::intrusive_ptr<c10::ivalue::Future> future();
  // The Work is gone: whatever is under way goes on.
  void release();

  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  std::uint64_t sequence() const { return sequence_; }
  Milliseconds timeout() const { return timeout_; }
  int source() const { return status_.MPI_SOURCE; }
  const std::shared_ptr<Group>& group() const { return group_; }

  // For the progress thread.
  std::vector<MPI_Request>& requests() { return requests_; }
  void note_status(const MPI_Status& status) { status_ = status; }
  void conclude(std::exception_ptr error);
  // The error of a request, in the words of the group's end where that is the reason.
  std::exception_ptr error_of(int code) const;
  // From now on its deadline and the group's end call `kick`.
  void guard(std::function<void()> kick);

 private:
  std::unique_ptr<Timer> watch();
  std::string overdue(Milliseconds time) const;
  void check_call(int code) const;
  void wait_here(Milliseconds time);
  void wait_for_requests(Milliseconds time);
  bool test_here();
  void hand_over();

  const std::shared_ptr<Group> group_;
  const char* const words_;
  std::vector<std::shared_ptr<Extension>> ending_;
  const Milliseconds timeout_;
  const bool is_blocking_;
  const Clock::time_point begun_ = Clock::now();
  std::vector<MPI_Request> requests_;
  MPI_Status status_{};
  std::vector<at::Tensor> held_, tensors_;
  std::vector<std::function<void()>> ends_;
  std::function<void()> completion_hook_;
  c10::IValue value_;
  std::uint64_t sequence_ = 0;

  std::mutex waiting_;        // held while a thread tests or waits for the requests
  bool is_handed_ = false;    // they are the progress thread's (under waiting_)
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  std::atomic<bool> is_done_{false};
  std::exception_ptr error_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Group::Alarm> alarm_;
};

}  // namespace torch_tern

#endif
