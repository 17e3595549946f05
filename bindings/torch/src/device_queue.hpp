// SPDX-License-Identifier: Apache-2.0
// Calls whose tensors lie on a device, and which are not put into a stream (stream_comm.hpp): each
// begins when the work is done that its stream had at the call. Behind it in its group wait all
// later calls, of the CPU too, as all ranks begin them in one order. And the tensors of all calls
// on devices, until these are done.
// Why: MPI takes a device's memory, but not its streams. By c10 alone (events, streams, guards):
// one build serves every PyTorch, also without CUDA's headers. Lifetime: of the process. Threads:
// one of its own, from the first such call on, which asks events and never waits for a device.
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
// One of the device's pool, for steps that follow a call.
c10::Stream new_stream(const c10::Device& device);
// Whether the current stream is being captured into a graph.
bool is_capturing(const c10::Device& device);
// Throws if so: the call would not be in the graph.
void refuse_capture(const c10::Device& device, const char* words, const std::string& why);

class DeviceQueue {
 public:
  static DeviceQueue& get();
  void push(std::shared_ptr<Operation> operation);
  // Until no call of the group waits to begin.
  void await_begun(const Group& group);
  // Until the steps at the operation's end are done; it lives as long.
  void keep_until_done(std::shared_ptr<Operation> operation, std::vector<at::Tensor> tensors);
  // Until nothing is kept, but not for long.
  void await_done(std::chrono::milliseconds most);
  // What has not begun never will. A later push starts the thread again.
  void stop();

 private:
  struct Kept {
    std::shared_ptr<Operation> operation;
    std::vector<at::Tensor> tensors;
  };

  void wake();
  void run();
  // Whether any could.
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
