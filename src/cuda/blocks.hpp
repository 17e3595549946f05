// SPDX-License-Identifier: Apache-2.0
// BlockStore: blocks of memory in a context, kept when they are given back.
// Why: freeing waits for everything on the device, the application's work too, and so may
// allocating. Lifetime: of its Device. Threads: any.
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
  /// Whether acquire() can do without a call of the driver that waits for the application's work:
  /// there is such a block, or the device is quiet. If not it is made once the device is, for
  /// later, in a process that enqueues nothing. Some calls wait until the device is, up to 0.1 s:
  /// a program may always have work there.
  [[nodiscard]] bool lends(Store from, size_t bytes) noexcept;
  /// At least so many bytes, from what was given back where there is some; null with *error. The
  /// context is current. While the device is not quiet a block may be far too large.
  std::byte* acquire(Store from, size_t* bytes, CUresult* error) noexcept;
  /// As acquire(), of idle blocks only, without a driver call; null: no idle block is large enough.
  std::byte* spare(Store from, size_t* bytes) noexcept;
  /// Whether acquire() would do without holding more than `most` bytes in all.
  [[nodiscard]] bool affords(Store from, size_t bytes, size_t most) noexcept;
  /// Kept for the next.
  void release(Store to, std::byte* block, size_t bytes) noexcept;
  /// Makes what lends() had to refuse, once the device is quiet.
  void make_wanted() noexcept;
  [[nodiscard]] bool empty() const noexcept;
  /// The context is current, and all blocks were given back.
  void destroy() noexcept;
  /// The blocks ended with their context, which is gone.
  void forget() noexcept;

 private:
  using Blocks = std::multimap<size_t, std::byte*>;  // by bytes
  CUresult allocate(Store from, size_t bytes, std::byte** block) noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes) noexcept;
  [[nodiscard]] std::byte* take_idle(Store from, size_t* bytes, bool* larger) noexcept;
  /// False: there was nothing.
  bool free_idle(Store of) noexcept;
  [[nodiscard]] bool becomes_quiet() noexcept;

  const DeviceContext& context_;
  std::mutex mutex_;                                // never held while the driver may wait
  std::array<Blocks, 2> idle_;                      // by Store
  std::array<size_t, 2> held_ = {};                 // bytes, idle or not
  std::array<std::atomic<size_t>, 2> wanted_ = {};  // bytes of a block that could not be made
  std::vector<const void*> known_;                  // pinned: know_pinned()
  std::atomic<uint32_t> refusals_{0};               // of lends()
};

}  // namespace tern::cuda
