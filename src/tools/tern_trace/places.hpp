// SPDX-License-Identifier: Apache-2.0
// Numbers of a process's records as numbers of the whole trace: places (function and call site),
// peers, communicators.
// Threads: one; remembers the last answers.
#pragma once

#include <vector>

#include "tools/tern_trace/model.hpp"

namespace tern::trace_tool {

/// A function called at a site.
struct Place {
  uint32_t function = 0, site = 0;
};

class Places {
 public:
  explicit Places(Trace* trace) : trace_(trace) {}

  [[nodiscard]] uint32_t of(uint32_t process, const Record& record);
  [[nodiscard]] uint32_t function_of(uint32_t process, uint32_t function);
  [[nodiscard]] const Place& at(uint32_t place) const noexcept { return places_[place]; }
  [[nodiscard]] size_t size() const noexcept { return places_.size(); }
  /// "MPI_Recv at solve.c:80(exchange)".
  [[nodiscard]] std::string name(uint32_t place) const;

  /// Null if the process does not name the communicator.
  [[nodiscard]] const Comm* comm_of(uint32_t process, const Record& record);
  /// The process at the other end, or Trace::kUnknown.
  [[nodiscard]] uint32_t peer_of(uint32_t process, const Record& record);

 private:
  Trace* trace_;
  std::vector<Place> places_;
  FlatMap functions_, sites_, numbers_;
  uint64_t last_key_ = ~0ull;
  uint32_t last_process_ = ~0u, last_place_ = 0;
  uint64_t last_comm_key_ = ~0ull;
  const Comm* last_comm_ = nullptr;
};

}  // namespace tern::trace_tool
