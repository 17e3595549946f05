// SPDX-License-Identifier: Apache-2.0
// Counts of the memory registered for RDMA (core::Process::registrations).
#pragma once

#include <string>

#include "core/process.hpp"

namespace tern::btl::net {

class CountedBytes {
 public:
  CountedBytes(core::Process& process, size_t bytes) noexcept
      : now_(process.registrations.bytes), bytes_(bytes) {
    now_.fetch_add(bytes_, std::memory_order_relaxed);
  }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  ~CountedBytes() { now_.fetch_sub(bytes_, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t>& now_;
  const uint64_t bytes_;
};

/// Counts a request. If locked memory is limited, regions get half of the limit, because the
/// library's pools grow later, and a library without pools loses frames.
[[nodiscard]] bool admits_memory(core::Process& process, size_t bytes) noexcept;
/// Counts a refusal. The first one is said, with the cure.
TERN_COLD void note_refused_memory(core::Process& process, const std::string& why) noexcept;
/// As note_refused_memory(), for device memory.
TERN_COLD void note_refused_device(core::Process& process, const std::string& why) noexcept;

}  // namespace tern::btl::net
