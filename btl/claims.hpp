// SPDX-License-Identifier: Apache-2.0
// SharedClaims: lets two processes share the chunks of one copy without messages.
// Threads: any, of both processes. Lifetime: the sender's segment.
#pragma once

#include <atomic>
#include <cstdint>

namespace tern::btl {

struct alignas(64) SharedClaims {
  std::atomic<uint64_t> taken{0};  // chunks taken: low 32 bits front, high 32 bits back
  std::atomic<uint32_t> finished{0};
  std::atomic<uint32_t> failed{0};
  std::atomic<uint32_t> ready{kAll};
  uint32_t chunk = 0;

  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr uint32_t kAll = UINT32_MAX;

  /// The receiver claims chunks from the front, the sender from the back. claim_front() and
  /// claim_back() return kNone if all chunks are taken, or the next chunk is not ready.
  uint64_t claim_front(uint64_t chunks) noexcept {
    if (all_taken(chunks)) return kNone;
    const uint32_t first_not_ready = ready.load(std::memory_order_acquire);
    if ((taken.load(std::memory_order_relaxed) & UINT32_MAX) >= first_not_ready) return kNone;
    const uint64_t before = taken.fetch_add(1, std::memory_order_acq_rel);
    const uint64_t front = before & UINT32_MAX;
    return front + (before >> 32) < chunks ? front : kNone;
  }
  uint64_t claim_back(uint64_t chunks) noexcept {
    const uint64_t before = taken.fetch_add(uint64_t{1} << 32, std::memory_order_acq_rel);
    const uint64_t back = before >> 32;
    return (before & UINT32_MAX) + back < chunks ? chunks - 1 - back : kNone;
  }
  [[nodiscard]] bool all_taken(uint64_t chunks) const noexcept {
    const uint64_t now = taken.load(std::memory_order_acquire);
    return (now & UINT32_MAX) + (now >> 32) >= chunks;
  }
};

}  // namespace tern::btl
