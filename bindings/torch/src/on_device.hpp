// SPDX-License-Identifier: Apache-2.0
// The device part of an operation: a stream, and events before and after the calls.
// How: a collective goes into the group's stream (stream_comm.hpp) if possible. Other calls begin
// after the first event (device_queue.hpp). The final steps run in the same or a new stream, before
// the last event.
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

  void allow_stream() { may_enqueue_ = true; }
  // Throws if the device's current stream is being captured and the graph cannot contain the call.
  void use(const at::Device& device);
  const std::optional<at::Device>& device() const { return device_; }
  const StreamComm* stream_comm() const { return stream_comm_; }
  bool is_enqueued() const { return stream_comm_ != nullptr; }
  bool is_captured() const { return is_captured_; }

  void record_ready();
  bool is_ready() const { return !data_is_ready_ || data_is_ready_->query(); }

  void fork();
  std::optional<c10::StreamGuard> in_own_stream();
  // Records the final event in the current stream. Call after all steps are in this stream.
  void record_end();
  bool has_end() const { return ends_are_done_.has_value(); }
  bool are_ends_done() const { return !ends_are_done_ || ends_are_done_->query(); }
  // A captured operation is done after the capture.
  bool is_done() const { return !is_enqueued() || is_captured_ || are_ends_done(); }
  void block_current() const;
  // Joins the forked stream after the calls, as a capture requires.
  void join() const;

 private:
  void use_stream_comm(const at::Device& device);

  Call& call_;
  std::optional<at::Device> device_;
  bool may_enqueue_ = false, is_captured_ = false;
  const StreamComm* stream_comm_ = nullptr;
  std::optional<c10::Stream> ends_stream_;
  std::optional<c10::Event> data_is_ready_, ends_are_done_;
};

}  // namespace torch_tern

#endif
