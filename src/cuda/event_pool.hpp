// SPDX-License-Identifier: Apache-2.0
// Events: a device's own and opened events for SharedEvent. Lifetime: the Device's. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace tern::cuda {

struct EventName {
  uint64_t process;
  uint64_t event;  // the handle in the process, because a process cannot open its own IPC handles
  unsigned char handle[64];
};
static_assert(sizeof(EventName) == 80);

class Events {
 public:
  explicit Events(const Driver& driver) noexcept : driver_(driver) {}
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();
  /// Lends an event to this caller alone, or returns null with *error. Requires the context.
  CUevent acquire(EventName* name, CUresult* error) noexcept;
  void release(CUevent event, const EventName& name) noexcept;
  /// Opens a peer's event, or returns null with *error. The event stays open, because a peer has at
  /// most one event per piece in flight. Requires the context.
  CUevent open(const EventName& name, CUresult* error) noexcept;
  /// Requires the context, and no waiting callers.
  void destroy() noexcept;
  void forget() noexcept;
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
  std::map<std::string, CUevent> opened_;
};

}  // namespace tern::cuda
