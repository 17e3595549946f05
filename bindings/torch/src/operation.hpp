// SPDX-License-Identifier: Apache-2.0
// One call of a collective or of point to point: its MPI requests, its tensors, and what is done
// when they are complete. Why: PyTorch's Work may be dropped before the data has moved; the
// operation lives until it has. Lifetime: held by its Work, and by the progress thread once a
// future is wanted or the Work is gone. Threads: begun by one; test, wait, future from any.
#ifndef TORCH_TERN_OPERATION_HPP
#define TORCH_TERN_OPERATION_HPP

#include <mpi.h>

#include <ATen/core/ivalue.h>
#include <c10/core/Event.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <type_traits>
#include <vector>

#include "description.hpp"
#include "errors.hpp"
#include "extensions.hpp"
#include "group.hpp"
#include "timer.hpp"

namespace torch_tern {

// Between two looks at what a device has done.
constexpr std::chrono::microseconds kLongestNap{200};

// So much later; never, where that is years.
inline Clock::time_point after(Clock::time_point begin, Milliseconds time) {
  return time > std::chrono::hours(24 * 365) ? Clock::time_point::max() : begin + time;
}

class Operation : public std::enable_shared_from_this<Operation> {
 public:
  // `words` name the call in sentences. A synchronous operation is complete when `begin` has
  // returned.
  Operation(std::shared_ptr<Group> group, const char* words, Milliseconds wanted, bool is_sync);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // The call is a collective: it may be put into a stream.
  void allow_stream() { may_enqueue_ = true; }
  // The call's nonblocking form, which has a request behind the arguments of the blocking one, or
  // the form that is put into a stream, which the blocking one names. Blocking calls of MPI do not
  // match nonblocking ones, so no rank makes them, whether or not its caller waits.
  template <class Blocking, class Nonblocking, class... Arguments>
  void issue(Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    if (is_enqueued()) {
      const auto enqueued = enqueued_form(blocking);
      queued_calls_.emplace_back(
          [this, enqueued, arguments...] { check_call(enqueued(in_stream(arguments)...)); });
    } else {
      post(nonblocking, arguments...);
    }
  }
  // A nonblocking call and its end, even where the caller would not wait: for calls that need each
  // other's results. On all ranks.
  template <class Nonblocking, class... Arguments>
  void make(Nonblocking nonblocking, Arguments... arguments) {
    await_turn();
    make_now(nonblocking, arguments...);
    wait_for_requests(timeout_);
  }
  // A nonblocking call; later, where the data of it or of one before it is not ready yet.
  template <class Nonblocking, class... Arguments>
  void post(Nonblocking nonblocking, Arguments... arguments) {
    auto call = [this, nonblocking, arguments...] { make_now(nonblocking, arguments...); };
    if (must_queue()) {
      queued_calls_.emplace_back(std::move(call));
    } else {
      call();
    }
  }
  // The call takes a tensor of this device, or of the CPU. Throws while the current stream of a
  // device is being captured, and the call cannot be in the graph.
  void use(const at::Device& device);

  // MPI reads or writes this tensor's memory until the end.
  void hold(const at::Tensor& tensor) { held_.push_back(tensor); }
  // Runs when all requests are complete, in the order of these calls.
  void at_end(std::function<void()> step) { ends_.push_back(std::move(step)); }
  // What Work::result and the future give.
  void set_value(c10::IValue value, std::vector<at::Tensor> tensors);
  void set_sequence(std::uint64_t sequence);
  // Called where the operation has succeeded, by any thread.
  void set_completion_hook(std::function<void()> hook) { completion_hook_ = std::move(hook); }
  // All calls have been made, or are queued behind what the current stream has to do.
  void begin();
  // The caller goes on when all is done, in the current stream, too.
  bool is_sync() const { return is_sync_; }

  bool is_complete();
  bool has_succeeded() const { return is_done_ && !error() && is_done_on_device(); }
  std::exception_ptr error() const;
  // Throws what went wrong. Time zero: what the operation has.
  void wait(Milliseconds time);
  c10::intrusive_ptr<c10::ivalue::Future> future();
  // The Work is gone: whatever is under way goes on.
  void release();
  // The same at the end of Python, where a thread may wait for it and never wake.
  void release_at_end();

  // What the caller asks for, for sentences; where ranks compare their calls, throws on all of them
  // where these differ. Before any call is made.
  void describe(const Description& description);
  // "allreduce number 3 of group "0"", or "recv of group "0"".
  std::string name() const;
  // A message, to or from this rank of the group; MPI_ANY_SOURCE: of any.
  void set_peer(int peer) { peer_ = peer; }
  // A thread has waited for so long that what this rank of the group had given would be here.
  // Where the rank was killed it may have given a part.
  bool waits_in_vain(int member, const Group::EndOfRank& end) const;

  const std::vector<at::Tensor>& tensors() const { return tensors_; }
  std::uint64_t sequence() const { return sequence_; }
  Milliseconds timeout() const { return timeout_; }
  int source() const { return status_.MPI_SOURCE; }
  const std::shared_ptr<Group>& group() const { return group_; }

  // For the queue of calls on devices: whether their data is there; then they are made.
  bool is_ready();
  void make_queued_calls();
  bool are_ends_done() const { return !ends_are_done_ || ends_are_done_->query(); }
  // All is over, on its device, too: deadlines end, hooks are called. Once only.
  void settle(const std::exception_ptr& error);

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
  template <class Nonblocking, class... Arguments>
  void make_now(Nonblocking nonblocking, Arguments... arguments) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_call(nonblocking(arguments..., &request));
    requests_.push_back(request);
  }
  void wait_here(Milliseconds time);
  void give_up_waiting();
  void wait_for_requests(Milliseconds time);
  void wait_until(Clock::time_point deadline);
  void wait_until_done(Milliseconds time);
  bool test_here();
  void hand_over();
  bool has_requests() const;
  bool must_queue();
  bool is_enqueued() const { return stream_comm_ != nullptr; }
  void use_stream_comm(const at::Device& device);
  void enqueue();
  void put_into_stream();
  void wait_for_stream(Milliseconds time);
  // A captured one is done whenever its graph is.
  bool is_done_on_device() const { return !is_enqueued() || is_captured_ || are_ends_done(); }
  void give_value(const c10::intrusive_ptr<c10::ivalue::Future>& future) const;
  template <class Argument>
  Argument in_stream(Argument argument) const {
    if constexpr (std::is_same_v<Argument, MPI_Comm>) {
      return stream_comm_->comm();
    } else {
      return argument;
    }
  }
  void await_turn();
  void run_ends(std::exception_ptr& error);
  c10::intrusive_ptr<c10::ivalue::Future> make_future() const;
  c10::intrusive_ptr<c10::ivalue::Future> future_or_new();

  const std::shared_ptr<Group> group_;
  const char* const words_;
  std::vector<std::shared_ptr<Extension>> ending_;
  const Milliseconds timeout_;
  const bool is_sync_;
  const Clock::time_point begun_ = Clock::now();
  std::vector<MPI_Request> requests_;
  MPI_Status status_{};
  std::optional<at::Device> device_;  // of tensors that are not the CPU's
  bool may_enqueue_ = false, is_captured_ = false;
  const StreamComm* stream_comm_ = nullptr;  // the group's, where the call goes into its stream
  std::optional<c10::Stream> ends_stream_;   // of the steps at the end
  std::atomic<bool> is_settled_{false};
  bool is_queued_ = false;
  std::vector<std::function<void()>> queued_calls_;
  std::optional<c10::Event> data_is_ready_, ends_are_done_;
  std::vector<at::Tensor> held_, tensors_;
  std::vector<std::function<void()>> ends_;
  std::function<void()> completion_hook_;
  c10::IValue value_;
  std::uint64_t sequence_ = 0;
  bool is_numbered_ = false;
  Description description_;
  std::optional<int> peer_;          // none: the call is a collective
  Clock::time_point waits_since_{};  // written before an alarm of the group leads to it

  std::mutex waiting_;        // held while a thread tests or waits for the requests
  bool is_handed_ = false;    // they are the progress thread's (under waiting_)
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  bool is_waited_for_ = false;  // by a thread that holds waiting_ until it concludes
  std::atomic<bool> is_done_{false};
  std::exception_ptr error_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Group::Alarm> alarm_;
};

}  // namespace torch_tern

#endif
