// SPDX-License-Identifier: Apache-2.0
// SharedEvent: the end of a process's work on a device, that another process sees.
// Why: a receiver's device may begin to copy when the sender's has written, whatever the sender's
// program does meanwhile. Asked, never waited for by a stream: the event of a device that has died
// would keep that stream for ever.
// Lifetime: recorded before its name is told; given back when the message has ended, to be recorded
// again for another. Threads: any.
// See: pml/protocols/device_pieces.cc, tests/gpu/driver/sharing.cc (what the driver promises).
#pragma once

#include "cuda/event_pool.hpp"

namespace tern::cuda {

class Device;
class Job;

/// Stands behind what the job has begun so far. Without any where the driver refuses: the job has
/// not failed for that.
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

/// The event that a peer has named; null where it is not to be had: the job has failed then.
[[nodiscard]] CUevent open_event(Job& job, const EventName& name) noexcept;
/// Whether it has happened; the job fails where it cannot be asked.
[[nodiscard]] bool happened(Job& job, CUevent event) noexcept;

}  // namespace tern::cuda
