// SPDX-License-Identifier: Apache-2.0
// The MPI calls of an operation. A call starts at once, or after the device's data and earlier
// calls, or goes into a stream. The operation holds the tensors until the end. Lifetime: of the
// operation. Threads: the caller, then the thread with the requests.
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
  // describe() precedes all MPI calls. If ranks compare calls and two calls differ, all ranks
  // throw.
  void describe(const Description& description);

  // Issues the nonblocking call, or in a stream the enqueued form of the blocking call. A
  // synchronous caller also gets the nonblocking call, because blocking and nonblocking collectives
  // do not match.
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
  // Makes the call and waits for its end. All ranks must use make() for the same calls.
  template <class Nonblocking, class... Arguments>
  void make(Nonblocking nonblocking, Arguments... arguments) {
    await_turn();
    make_now(nonblocking, arguments...);
    if (const auto error = wait_for_requests(timeout())) {
      std::rethrow_exception(error);
    }
  }
  // Queues the call if the data or an earlier call is not ready.
  template <class Nonblocking, class... Arguments>
  void post(Nonblocking nonblocking, Arguments... arguments) {
    auto call = [this, nonblocking, arguments...] { make_now(nonblocking, arguments...); };
    if (must_queue()) {
      queued_calls_.emplace_back(std::move(call));
    } else {
      call();
    }
  }

  void hold(const at::Tensor& tensor) { held_.push_back(tensor); }
  void at_end(std::function<void()> step) { ends_.push_back(std::move(step)); }

  // Only the waiting thread may use requests and status.
  std::vector<MPI_Request>& requests() { return requests_; }
  void note_status(const MPI_Status& status) { status_ = status; }
  int source() const { return status_.MPI_SOURCE; }

 protected:
  bool is_queued() const { return is_queued_; }
  bool has_requests() const;
  void make_queued();
  int test(bool& are_complete);
  // Returns the error of a request or of the group's end. Throws a signal handler's exception; the
  // MPI calls continue.
  std::exception_ptr wait_for_requests(Milliseconds time);
  void run_ends(std::exception_ptr& error);
  // Peers may still access the memory of an interrupted call.
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
