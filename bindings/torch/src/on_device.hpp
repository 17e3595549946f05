// SPDX-License-Identifier: Apache-2.0
// The device part of an operation: a stream, and the events before and behind the calls.
// How: a collective goes into the group's stream (stream_comm.hpp) if possible. Other calls begin
// when the event before the call has come (device_queue.hpp). The steps at the end run in the same
// stream, or in a new one, and the last event comes behind these steps.
// Lifetime: of the operation. Threads: one at a time; any for are_ends_done() and is_done().
#ifndef TORCH_TERN_ON_DEVICE_HPP
#define TORCH_TERN_ON_DEVICE_HPP

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <optional>

#include "call.hpp"

namespace torch_tern {

class OnDevice {
 public:
  explicit OnDevice(Call& call) : call_(call) {}

  // For collectives.
  void allow_stream() { may_enqueue_ = true; }
  // The call takes a tensor of this device, or of the CPU. Throws if the device's current stream is
  // being captured, and the call cannot be in the graph.
  void use(const at::Device& device);
  // Empty if all tensors are on the CPU.
  const std::optional<at::Device>& device() const { return device_; }
  // The communicator of an operation in a stream; else null.
  const StreamComm* stream_comm() const { return stream_comm_; }
  bool is_enqueued() const { return stream_comm_ != nullptr; }
  bool is_captured() const { return is_captured_; }

  // The data is ready when the current stream comes to this point.
  void record_ready();
  bool is_ready() const { return !data_is_ready_ || data_is_ready_->query(); }

  // The operation's stream follows the current one from here on.
  void fork();
  // The operation's stream is the current one while the guard lives.
  std::optional<c10::StreamGuard> in_own_stream();
  // All steps are in the current stream.
  void record_end();
  bool has_end() const { return ends_are_done_.has_value(); }
  bool are_ends_done() const { return !ends_are_done_ || ends_are_done_->query(); }
  // A captured operation is done with the graph.
  bool is_done() const { return !is_enqueued() || is_captured_ || are_ends_done(); }
  // The current stream waits for the steps at the end.
  void block_current() const;
  // After a capture's calls: joins the forked stream, as a graph needs.
  void join() const;

 private:
  void use_stream_comm(const at::Device& device);

  Call& call_;
  std::optional<at::Device> device_;
  bool may_enqueue_ = false, is_captured_ = false;
  const StreamComm* stream_comm_ = nullptr;  // the group's
  std::optional<c10::Stream> ends_stream_;   // of the steps at the end
  std::optional<c10::Event> data_is_ready_, ends_are_done_;
};

}  // namespace torch_tern

#endif
