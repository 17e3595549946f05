// SPDX-License-Identifier: Apache-2.0
// The memory model of a block on a device, for the twins of cuda/kernels/ptx.cuh: stores leave the
// block late and out of order, 16 bytes as two halves. Loads see lines of 128 bytes as old as the
// last acquire.
// Why: host processors order stores and keep caches coherent, which hides a missing release or
// acquire.
// Threads: a block runs on one system thread. Only the memory is atomic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tern::softcuda {

/// Stores arrive in program order, by whole lines (NVLink, own memory), or in any order (PCIe).
enum class Arrival { kInOrder, kLines, kAny };
[[nodiscard]] Arrival arrival_at(const void* address) noexcept;

/// Other accesses stay in the kernel, visible to TSan.
inline bool is_weak(const void* address) noexcept {
  return arrival_at(address) != Arrival::kInOrder;
}

class BlockMemory {
 public:
  BlockMemory() = default;
  ~BlockMemory() { drain(); }
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// `bytes` is 4, or a multiple of 8. With `line` the store arrives with earlier stores to the
  /// line (LL128).
  void store(void* to, const void* value, size_t bytes, bool line = false);
  void load(void* into, const void* from, size_t bytes);
  /// settle() drains the block's own stores to a word.
  void settle(const void* word);
  void drain();
  void drain_some();
  void forget();

 private:
  struct Store {
    uintptr_t at;
    size_t bytes;
    uint64_t value;
    bool line;
  };
  static constexpr size_t kLine = 128;
  void push(uintptr_t at, const void* value, size_t bytes, Arrival arrival, bool line);
  [[nodiscard]] bool may_leave(size_t which) const;
  void leave(size_t which);
  [[nodiscard]] uint32_t& stores_near(uintptr_t at) noexcept { return near_[at / 8 % kWords]; }

  std::vector<Store> stores_;
  static constexpr size_t kWords = 256;
  std::array<uint32_t, kWords> near_{};  // most words have no store in the buffer
  std::map<uintptr_t, std::array<char, kLine>> lines_;
};

struct Copies {
  static constexpr int kMost = 8;
  void* at[kMost] = {};
  int count = 0;
};
[[nodiscard]] Copies copies_behind(const void* address) noexcept;

[[nodiscard]] BlockMemory& block_memory() noexcept;

}  // namespace tern::softcuda
