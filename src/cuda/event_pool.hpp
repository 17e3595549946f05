// SPDX-License-Identifier: Apache-2.0
// Events: the events of a device for SharedEvent, and their names between processes.
// Lifetime: the Device's. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace tern::cuda {

/// The name of an event. Goes over the wire.
struct EventName {
  uint64_t process;  // process_id()
  uint64_t event;    // in that process: a process cannot open its own handles
  unsigned char handle[64];
};
static_assert(sizeof(EventName) == 80);

/// A device's events: own events, and opened events of other processes.
class Events {
 public:
  explicit Events(const Driver& driver) noexcept : driver_(driver) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();
  /// An event for the caller alone; null with *error. The context is current.
  CUevent acquire(EventName* name, CUresult* error) noexcept;
  void release(CUevent event, const EventName& name) noexcept;
  /// Null with *error after a refusal. The event stays open: a peer has no more events than pieces
  /// under way. The context is current.
  CUevent open(const EventName& name, CUresult* error) noexcept;
  /// The context is current, and nothing waits any more.
  void destroy() noexcept;
  /// The events ended with their context.
  void forget() noexcept;
  /// The same of a single event from acquire().
  static void forget(CUevent event) noexcept;
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

}  // namespace tern::cuda
