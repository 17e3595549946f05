// SPDX-License-Identifier: Apache-2.0
// Queues calls on device tensors that have no stream (stream_comm.hpp). A call begins after the
// work that its stream held at the call. Later calls of the group queue behind, CPU calls too,
// because all ranks must begin the calls in one order. The queue also holds the tensors of all
// device calls until the device is done.
// Why: MPI accepts device memory but no streams. Only c10 is used (events, streams, guards), so one
// build serves every PyTorch, even without CUDA headers.
// Lifetime: of the process. Threads: a thread of its own, started by the first call, polls events
// and never blocks on a device.
#ifndef TORCH_TERN_DEVICE_QUEUE_HPP
#define TORCH_TERN_DEVICE_QUEUE_HPP

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace torch_tern {

class Group;
class Operation;

c10::Stream current_stream(const c10::Device& device);
// Takes a stream from the device's pool, for the steps after a call.
c10::Stream new_stream(const c10::Device& device);
// Whether the current stream is being captured into a graph.
bool is_capturing(const c10::Device& device);
// Throws if the current stream is being captured, because the graph would miss the call.
void refuse_capture(const c10::Device& device, const char* words, const std::string& why);

class DeviceQueue {
 public:
  static DeviceQueue& get();
  void push(std::shared_ptr<Operation> operation);
  // Blocks until all queued calls of the group have begun.
  void await_begun(const Group& group);
  // Holds the operation and the tensors until the operation's final steps are done.
  void keep_until_done(std::shared_ptr<Operation> operation, std::vector<at::Tensor> tensors);
  // Waits until nothing is held, at most for `most`.
  void await_done(std::chrono::milliseconds most);
  // Drops calls that have not begun. A later push restarts the thread.
  void stop();

 private:
  struct Kept {
    std::shared_ptr<Operation> operation;
    std::vector<at::Tensor> tensors;
  };

  void wake();
  void run();
  // Returns true if a call began.
  bool begin_ready(std::unique_lock<std::mutex>& lock);
  void drop_done(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Operation>> waiting_;  // in the order of the calls
  std::list<Kept> kept_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace torch_tern

#endif
