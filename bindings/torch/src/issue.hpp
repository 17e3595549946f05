// SPDX-License-Identifier: Apache-2.0
// The first half of an operation's life. MPI calls are made at once, or behind the data of a device
// and earlier calls, or put into a stream. The tensors that MPI uses are held until the end.
// Lifetime: of the operation. Threads: the caller; then the thread with the requests.
#ifndef TORCH_TERN_ISSUE_HPP
#define TORCH_TERN_ISSUE_HPP

#include <mpi.h>

#include <functional>
#include <type_traits>
#include <vector>

#include "call.hpp"
#include "extensions.hpp"
#include "on_device.hpp"

namespace torch_tern {

class Issue : public Call {
 public:
  Issue(std::shared_ptr<Group> group, const char* words, Milliseconds wanted);

  OnDevice& on_device() { return on_device_; }
  // Comes before any MPI call. If ranks compare calls, and two calls differ, all ranks throw.
  void describe(const Description& description);

  // Makes the nonblocking call: a request follows the arguments of the blocking one. In a stream,
  // makes the enqueued form of the blocking call. Blocking calls of MPI do not match nonblocking
  // calls: even for a synchronous caller no rank makes a blocking call.
  template <class Blocking, class Nonblocking, class... Arguments>
  void issue(Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    if (on_device_.is_enqueued()) {
      const auto enqueued = enqueued_form(blocking);
      queued_calls_.emplace_back(
          [this, enqueued, arguments...] { check_call(enqueued(in_stream(arguments)...)); });
    } else {
      post(nonblocking, arguments...);
    }
  }
  // A nonblocking call and a wait, even for an asynchronous caller: for calls that need the results
  // of others. On all ranks.
  template <class Nonblocking, class... Arguments>
  void make(Nonblocking nonblocking, Arguments... arguments) {
    await_turn();
    make_now(nonblocking, arguments...);
    if (const auto error = wait_for_requests(timeout())) {
      std::rethrow_exception(error);
    }
  }
  // A nonblocking call; later, if the data of this or of an earlier call is not ready yet.
  template <class Nonblocking, class... Arguments>
  void post(Nonblocking nonblocking, Arguments... arguments) {
    auto call = [this, nonblocking, arguments...] { make_now(nonblocking, arguments...); };
    if (must_queue()) {
      queued_calls_.emplace_back(std::move(call));
    } else {
      call();
    }
  }

  // MPI reads or writes the tensor's memory until the end.
  void hold(const at::Tensor& tensor) { held_.push_back(tensor); }
  // Runs when all requests are complete, in the order of these calls.
  void at_end(std::function<void()> step) { ends_.push_back(std::move(step)); }

  // For the thread that waits for the requests.
  std::vector<MPI_Request>& requests() { return requests_; }
  void note_status(const MPI_Status& status) { status_ = status; }
  int source() const { return status_.MPI_SOURCE; }

 protected:
  bool is_queued() const { return is_queued_; }
  bool has_requests() const;
  // In the current stream, for an enqueued operation.
  void make_queued();
  // Returns the error code of a failed request.
  int test(bool& are_complete);
  // Until all are complete. Returns the error of a request, or of the group's end. Throws the
  // exception of a signal's handler, or of the wait's alarm; the MPI calls go on.
  std::exception_ptr wait_for_requests(Milliseconds time);
  // Runs the steps at the end, unless an error is known. A failed step gives the error.
  void run_ends(std::exception_ptr& error);
  // Peers may still read and write the memory of a call that was ended.
  void leak_held() { new std::vector<at::Tensor>(std::move(held_)); }

  OnDevice on_device_;
  std::vector<at::Tensor> held_;

 private:
  void check_call(int code) const {
    if (code != MPI_SUCCESS) [[unlikely]] {
      std::rethrow_exception(error_of(code));
    }
  }
  template <class Nonblocking, class... Arguments>
  void make_now(Nonblocking nonblocking, Arguments... arguments) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_call(nonblocking(arguments..., &request));
    requests_.push_back(request);
  }
  template <class Argument>
  Argument in_stream(Argument argument) const {
    if constexpr (std::is_same_v<Argument, MPI_Comm>) {
      return on_device_.stream_comm()->comm();
    } else {
      return argument;
    }
  }
  bool must_queue();
  void await_turn();
  int wait_until(Clock::time_point deadline);

  std::vector<MPI_Request> requests_;
  MPI_Status status_{};
  bool is_queued_ = false;
  std::vector<std::function<void()>> queued_calls_;
  std::vector<std::function<void()>> ends_;
};

}  // namespace torch_tern

#endif
