// SPDX-License-Identifier: Apache-2.0
// The memory kind of an address, and its allocation.
// Cost: a compare before libcuda is loaded. Then a few compares for the heap, static data and the
// thread's stack, and a cuPointerGetAttributes for other addresses. Results are cached only for a
// call's buffers (CallBuffers), because an address may be freed and reused. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "cuda/api.hpp"
#include "cuda/loaded.hpp"

namespace tern::cuda {

enum class MemoryKind : uint8_t {
  kUnknown,
  kHost,     // plain, pinned or registered; the CPU may access it
  kDevice,   // only the driver and kernels may access it
  kManaged,  // accessible to CPU and device; treated as device memory, to avoid migration
};

[[nodiscard]] inline bool on_device(MemoryKind kind) noexcept {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

/// Source of Memory::buffer_id; ids are unique only within a source.
enum class IdKind : uint8_t {
  kBuffer,
  kBlock,
};

struct Memory {
  MemoryKind kind = MemoryKind::kHost;
  CUcontext context = nullptr;  // null for pools and cuMemMap
  int device = 0;
  uint64_t buffer_id = 0;  // of the allocation; not reused in this process
  IdKind id_kind = IdKind::kBuffer;
  uintptr_t base = 0;
  size_t bytes = 0;
  bool legacy_ipc = false;
  bool pooled = false;
};

namespace detail {
/// Ranges of host memory, found at first use.
struct HostRanges {
  struct AddressRange {
    std::atomic<uintptr_t> begin{0}, bytes{0};
    [[nodiscard]] bool has(uintptr_t address) const noexcept {
      return address - begin.load(std::memory_order_relaxed) <
             bytes.load(std::memory_order_relaxed);
    }
  };
  AddressRange program;
  std::array<AddressRange, 64> pinned;  // by the library; a place keeps its address
  AddressRange heap;
};
extern constinit HostRanges host_ranges;
struct StackRange {
  uintptr_t low = 0, bytes = 0;
};
extern constinit thread_local StackRange stack_range __attribute__((tls_model("initial-exec")));
TERN_COLD MemoryKind ask(const void* address) noexcept;
}  // namespace detail

/// Caches the driver's answers for up to two buffers (or null), for the calling thread and the
/// duration of a call.
class CallBuffers {
 public:
  CallBuffers(const void* one, const void* other) noexcept;
  CallBuffers(const CallBuffers&) = delete;
  CallBuffers& operator=(const CallBuffers&) = delete;
  ~CallBuffers();
  struct KnownBuffer {
    const void* address = nullptr;
    MemoryKind kind = MemoryKind::kUnknown;
    bool looked_up = false;
    Memory memory;
  };
  /// Returns null for an address that is not a buffer of this thread's calls.
  [[nodiscard]] static KnownBuffer* find(const void* address) noexcept;

 private:
  std::array<KnownBuffer, 2> known_;
  CallBuffers* const outer_;
};

[[nodiscard]] inline MemoryKind kind_of(const void* address) noexcept {
  if (TERN_LIKELY(no_driver_since.still())) return MemoryKind::kHost;
  const auto at = reinterpret_cast<uintptr_t>(address);
  const detail::HostRanges& ranges = detail::host_ranges;
  if (TERN_LIKELY(ranges.heap.has(at) || at - detail::stack_range.low < detail::stack_range.bytes ||
                  ranges.program.has(at)))
    return MemoryKind::kHost;
  return detail::ask(address);
}

/// Registers pinned memory of the library as host memory, for threads that must not call the
/// driver. Forget before freeing. If the table is full, look-ups ask the driver.
void know_pinned(const void* begin, size_t bytes) noexcept;
void forget_pinned(const void* begin) noexcept;

/// Returns all attributes of an address; kHost without a driver.
[[nodiscard]] Memory look_up(const void* address) noexcept;
/// As look_up(), but an address of cuMemMap has the range of a single mapping, and IdKind::kBlock.
[[nodiscard]] Memory mapping_at(uintptr_t address) noexcept;

}  // namespace tern::cuda
