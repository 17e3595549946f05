// SPDX-License-Identifier: Apache-2.0
// BlockStore: a pool of memory blocks in one context.
// Why: cuMemFree waits for everything on the device, the application's work too, and cuMemAlloc
// may. Lifetime: its Device. Threads: any.
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

enum class Store : uint8_t { kDevice, kPinned };  // device memory, pinned host memory

class BlockStore {
 public:
  explicit BlockStore(const DeviceContext& context) noexcept : context_(context) {}
  /// Whether acquire() avoids driver calls that wait for the application's work: a block is idle,
  /// or the device is quiet. Otherwise make_wanted() makes a block later, in a process without
  /// enqueued calls. After many refusals lends() waits up to 0.1 s for a quiet device, because a
  /// program may always have work on it.
  [[nodiscard]] bool lends(Store from, size_t bytes) noexcept;
  /// A block of at least *bytes, preferably an idle one; null with *error. The context is current.
  /// While the device is busy a block may be far too large.
  std::byte* acquire(Store from, size_t* bytes, CUresult* error) noexcept;
  /// Like acquire(), from idle blocks only, without a driver call; null: no idle block is large
  /// enough.
  std::byte* spare(Store from, size_t* bytes) noexcept;
  /// Whether the store holds at most `most` bytes after acquire().
  [[nodiscard]] bool affords(Store from, size_t bytes, size_t most) noexcept;
  /// The block becomes idle; the driver keeps its memory.
  void release(Store to, std::byte* block, size_t bytes) noexcept;
  /// Once the device is quiet, makes the blocks refused by lends().
  void make_wanted() noexcept;
  [[nodiscard]] bool empty() const noexcept;
  /// Frees idle blocks. The context is current.
  void destroy() noexcept;
  /// After the end of the context.
  void forget() noexcept;

 private:
  using Blocks = std::multimap<size_t, std::byte*>;  // by bytes
  CUresult allocate(Store from, size_t bytes, std::byte** block) noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes) noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes, bool* larger) noexcept;
  /// False: no block was idle.
  bool free_idle(Store of) noexcept;
  [[nodiscard]] bool becomes_quiet() noexcept;

  const DeviceContext& context_;
  std::mutex mutex_;                                // never held while the driver may wait
  std::array<Blocks, 2> idle_;                      // by Store
  std::array<size_t, 2> held_ = {};                 // bytes, idle or not
  std::array<std::atomic<size_t>, 2> wanted_ = {};  // bytes of a refused block
  std::vector<const void*> known_;                  // pinned: know_pinned()
  std::atomic<uint32_t> refusals_{0};               // of lends()
};

}  // namespace tern::cuda
