// SPDX-License-Identifier: Apache-2.0
// SharedEvent: the end of a process's work on a device, that another process sees.
// Why: a receiver's device may begin to copy when the sender's has written, whatever the sender's
// program does meanwhile. Asked, never waited for by a stream: the event of a device that has died
// would keep that stream for ever.
// Lifetime: recorded before its name is told; given back when the message has ended, to be recorded
// again for another. Threads: any.
// See: pml/protocols/device_pieces.cc, tests/gpu/driver/sharing.cc (what the driver promises).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace tern::cuda {

class Device;
class Job;

/// The name of an event. Goes over the wire.
struct EventName {
  uint64_t process;  // process_id()
  uint64_t event;    // in that process: a process cannot open its own handles
  unsigned char handle[64];
};
static_assert(sizeof(EventName) == 80);

/// A device's events: its own, and those of other processes that it has opened.
class Events {
 public:
  explicit Events(const Driver& driver) noexcept : driver_(driver) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();
  /// One for the caller's use alone; null with *error. The context is current.
  CUevent acquire(EventName* name, CUresult* error) noexcept;
  void release(CUevent event, const EventName& name) noexcept;
  /// Null with *error where it is not to be had; stays open, as there are only as many as a peer's
  /// pieces under way at once. The context is current.
  CUevent open(const EventName& name, CUresult* error) noexcept;
  /// The context is current, and nothing waits any more.
  void destroy() noexcept;
  /// They went with their context.
  void forget() noexcept;
  [[nodiscard]] bool empty() const noexcept { return idle_.empty() && opened_.empty(); }

 private:
  struct Own {
    CUevent event;
    EventName name;
  };
  const Driver& driver_;
  std::mutex mutex_;
  std::vector<Own> idle_;
  std::map<std::string, CUevent> opened_;  // by the bytes of process and handle
};

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
