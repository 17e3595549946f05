// SPDX-License-Identifier: Apache-2.0
// Queues calls on device tensors without a stream (stream_comm.hpp) until the current stream
// reaches the call. Later calls of the group queue behind, CPU calls too, because all ranks must
// begin calls in one order. The queue holds the tensors of device calls until the device is done.
// Why: with c10 alone (events, streams, guards) one build serves every PyTorch, even without CUDA
// headers.
// Lifetime: of the process. Threads: the queue's thread polls events and never blocks on a device.
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
c10::Stream new_stream(const c10::Device& device);
bool is_capturing(const c10::Device& device);
// Throws during a capture, because the graph would miss the call.
void refuse_capture(const c10::Device& device, const char* words, const std::string& why);

class DeviceQueue {
 public:
  static DeviceQueue& get();
  void push(std::shared_ptr<Operation> operation);
  void await_begun(const Group& group);
  void keep_until_done(std::shared_ptr<Operation> operation, std::vector<at::Tensor> tensors);
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
  bool begin_ready(std::unique_lock<std::mutex>& lock);
  void drop_done(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Operation>> waiting_;
  std::list<Kept> kept_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace torch_tern

#endif
