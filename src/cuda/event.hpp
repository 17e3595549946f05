// SPDX-License-Identifier: Apache-2.0
// SharedEvent: marks the end of a process's device work, visible to other processes.
// Why: a receiver's device may begin to copy when the sender's device has written, without the
// sender's CPU. Tern polls events and never makes a stream wait: the event of a dead process would
// block the stream forever (tests/gpu/driver/sharing.cc).
// Lifetime: recorded before its name is sent, until the message has ended. Threads: any.
#pragma once

#include "cuda/event_pool.hpp"

namespace tern::cuda {

class Device;
class Job;

/// Records an event behind the job's work. On failure the event is invalid; the job does not fail.
class SharedEvent {
 public:
  SharedEvent() = default;
  explicit SharedEvent(Job& job) noexcept;
  SharedEvent(SharedEvent&& other) noexcept { *this = std::move(other); }
  SharedEvent& operator=(SharedEvent&& other) noexcept;
  ~SharedEvent();
  [[nodiscard]] bool valid() const noexcept { return event_ != nullptr; }
  [[nodiscard]] const EventName& name() const noexcept { return name_; }

 private:
  Device* device_ = nullptr;
  CUevent event_ = nullptr;
  EventName name_{};
};

/// Opens a peer's event; on failure returns null, and the job fails.
[[nodiscard]] CUevent open_event(Job& job, const EventName& name) noexcept;
[[nodiscard]] bool happened(Job& job, CUevent event) noexcept;

}  // namespace tern::cuda
