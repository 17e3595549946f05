// SPDX-License-Identifier: Apache-2.0
// Memory as the threads of a block see it on a device, for the twins of cuda/kernels/ptx.cuh:
// stores leave the block late and out of order, 16 bytes as twice 8; loads see lines of 128 bytes
// as old as the last acquire. Why: the processor that runs the kernels orders stores and keeps
// caches alike; a missing release or acquire could not be seen. Threads: one block on one thread of
// the system; nothing here is atomic but the memory itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tern::softcuda {

/// How stores to an address arrive: as the program orders them; in any order, but within a line as
/// they were made (NVLink, own memory); in any order (PCIe).
enum class Arrival { kInOrder, kLines, kAny };
/// Asks the driver.
[[nodiscard]] Arrival arrival_at(const void* address) noexcept;

/// Else an access is made where the kernel is compiled, so that TSan sees it.
inline bool is_weak(const void* address) noexcept {
  return arrival_at(address) != Arrival::kInOrder;
}

/// Of addresses that are weak.
class BlockMemory {
 public:
  BlockMemory() = default;
  ~BlockMemory() { drain(); }
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  /// 4 bytes, or a multiple of 8. `line`: with what was stored into the line before, where the link
  /// keeps lines (LL128).
  void store(void* to, const void* value, size_t bytes, bool line = false);
  void load(void* into, const void* from, size_t bytes);
  /// Lets its own stores to a word leave: who loads that word has what it stored, or newer.
  void settle(const void* word);
  void drain();
  /// Lets something leave, or not.
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

  std::vector<Store> stores_;
  std::map<uintptr_t, std::array<char, kLine>> lines_;
};

/// The memory of all devices behind a multicast address.
struct Copies {
  static constexpr int kMost = 8;
  void* at[kMost] = {};
  int count = 0;
};
[[nodiscard]] Copies copies_behind(const void* address) noexcept;

/// Of the block that runs on this thread.
[[nodiscard]] BlockMemory& block_memory() noexcept;

}  // namespace tern::softcuda
