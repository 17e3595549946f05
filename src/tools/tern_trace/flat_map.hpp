// SPDX-License-Identifier: Apache-2.0
// A hash table from 64-bit keys to 32-bit numbers, for millions of entries.
// Why: std::unordered_map allocates per entry.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::trace_tool {

[[nodiscard]] inline uint64_t mixed(uint64_t x) noexcept {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

class FlatMap {
 public:
  static constexpr uint32_t kNone = ~0u;

  /// Returns the value of `key`, or inserts `fresh`.
  uint32_t insert(uint64_t key, uint32_t fresh) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(key);
    if (slot.value != kNone) return slot.value;
    slot = {key, fresh};
    ++used_;
    return fresh;
  }
  [[nodiscard]] uint32_t find(uint64_t key) const noexcept {
    return slots_.empty() ? kNone : const_cast<FlatMap*>(this)->slot_of(key).value;
  }
  void set(uint64_t key, uint32_t value) {
    if (insert(key, value) != value) slot_of(key).value = value;
  }
  void clear() noexcept {
    for (Slot& slot : slots_) slot.value = kNone;
    used_ = 0;
  }
  [[nodiscard]] size_t size() const noexcept { return used_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = kNone;
  };

  Slot& slot_of(uint64_t key) noexcept {
    const size_t mask = slots_.size() - 1;
    size_t at = mixed(key) & mask;
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.value != kNone) slot_of(slot.key) = slot;
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace tern::trace_tool
