// SPDX-License-Identifier: Apache-2.0
// SharedClaims: two processes share out the chunks of one transfer without a message.
// Why: two cores that copy halves beat one; a partner that never comes costs nothing.
// Threads: any, of both processes. Lifetime: the sender's segment.
#pragma once

#include <atomic>
#include <cstdint>

namespace tern::btl {

struct alignas(64) SharedClaims {
  std::atomic<uint64_t> taken{0};     // low half: chunks from the front; high half: from the back
  std::atomic<uint32_t> finished{0};  // chunks copied
  std::atomic<uint32_t> failed{0};    // errno of a copy that failed
  std::atomic<uint32_t> ready{kAll};  // chunks from the front that the sender has packed
  uint32_t chunk = 0;                 // bytes of each but the last; the sender says

  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr uint32_t kAll = UINT32_MAX;

  /// The next chunk of `chunks` from the front (or the back), kNone when all are taken, or the next
  /// is not ready. The front is one end's alone, the back the other's.
  uint64_t claim_front(uint64_t chunks) noexcept {
    if (all_taken(chunks)) return kNone;  // callers ask again while they wait for the other end
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
