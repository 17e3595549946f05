// SPDX-License-Identifier: Apache-2.0
// BlockStore: a pool of memory blocks in a context, because cuMemFree waits for all work on the
// device, and cuMemAlloc may. Small device blocks are parts of allocations of 2 MiB ("slabs"): a
// peer opens each slab once, whereas a driver may refuse a second allocation of the same 2 MiB.
// Lifetime: its Device. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/context.hpp"

namespace tern::cuda {

enum class Store : uint8_t { kDevice, kPinned };

class BlockStore {
 public:
  explicit BlockStore(const DeviceContext& context) noexcept : context_(context) {}
  /// Whether acquire() makes no driver call that waits for the application: a block is idle, or the
  /// device is quiet. Otherwise make_wanted() allocates later, unless the process enqueues calls.
  /// Many refusals make lends() wait up to 0.1 s for a quiet device.
  [[nodiscard]] bool lends(Store from, size_t bytes) noexcept;
  /// Lends at least *bytes, or returns null with *error. Requires the context. While the device is
  /// busy, the block may be far too large.
  std::byte* acquire(Store from, size_t* bytes, CUresult* error) noexcept;
  /// Like acquire(), but lends only idle blocks, without driver calls.
  std::byte* spare(Store from, size_t* bytes) noexcept;
  [[nodiscard]] bool affords(Store from, size_t bytes, size_t most) noexcept;
  void release(Store to, std::byte* block, size_t bytes) noexcept;
  void make_wanted() noexcept;
  [[nodiscard]] bool empty() const noexcept;
  void destroy() noexcept;
  /// forget() replaces destroy() after the end of the context.
  void forget() noexcept;

 private:
  using Blocks = std::multimap<size_t, std::byte*>;
  CUresult allocate(Store from, size_t bytes, std::byte** block) noexcept;
  CUresult allocate_slab(size_t bytes, std::byte** block) noexcept;
  [[nodiscard]] bool is_in_slab(const std::byte* block) const noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes) noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes, bool* larger) noexcept;
  [[nodiscard]] Blocks::iterator larger_part(size_t bytes) noexcept;
  [[nodiscard]] std::byte* split(size_t bytes) noexcept;
  bool free_idle(Store of) noexcept;
  [[nodiscard]] bool becomes_quiet() noexcept;

  const DeviceContext& context_;
  std::mutex mutex_;  // never held while the driver may wait
  std::array<Blocks, 2> idle_;
  std::array<size_t, 2> held_ = {};
  std::array<std::atomic<size_t>, 2> wanted_ = {};
  std::vector<const void*> known_;
  std::vector<CUdeviceptr> slabs_;
  std::atomic<uint32_t> refusals_{0};
};

}  // namespace tern::cuda
