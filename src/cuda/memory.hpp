// SPDX-License-Identifier: Apache-2.0
// The memory kind of an address: the host's or a device's, and of which allocation.
// Why: any buffer of any call may be either, and the caller does not say which.
// Cost: a compare while libcuda is not loaded; then some for addresses in the heap, the program's
// static data and the thread's stack, and for others one cuPointerGetAttributes. Nothing is
// remembered of an address, but of a call's buffers while that lasts: it may be freed and come back
// as other memory.
// Threads: any. See: src/cuda/README.md, tests/unit/cuda/memory_test.cc,
// tests/gpu/mpi/pt2pt_kinds.cc.
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
  kUnknown,  // not asked yet
  kHost,     // plain, pinned or registered: the CPU reads and writes it
  kDevice,   // only the driver and kernels may touch it
  kManaged,  // both may; it is treated like a device's, so that it stays where it is
};

/// Of memory that the driver moves.
[[nodiscard]] inline bool on_device(MemoryKind kind) noexcept {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

/// What counts the id of memory: each counts for itself, so that only both together name it.
enum class IdKind : uint8_t {
  kBuffer,  // CU_POINTER_ATTRIBUTE_BUFFER_ID
  kBlock,   // CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: of what is mapped (cuMemCreate)
};

/// What the driver says of an address.
struct Memory {
  MemoryKind kind = MemoryKind::kHost;
  CUcontext context = nullptr;  // null: of no context (pools, cuMemMap)
  int device = 0;               // ordinal in this process
  uint64_t buffer_id = 0;       // of the allocation; never used again in this process
  IdKind id_kind = IdKind::kBuffer;
  uintptr_t base = 0;       // of the allocation, or of the mapping
  size_t bytes = 0;         // of it
  bool legacy_ipc = false;  // cuIpcGetMemHandle takes it
  bool pooled = false;      // from a memory pool (cuMemAllocAsync)
};

namespace detail {
/// Where no device memory can be: learnt at the first address that needs it.
struct HostRanges {
  struct Range {
    std::atomic<uintptr_t> begin{0}, bytes{0};
    [[nodiscard]] bool has(uintptr_t address) const noexcept {
      return address - begin.load(std::memory_order_relaxed) <
             bytes.load(std::memory_order_relaxed);
    }
  };
  Range program;                 // static data
  std::array<Range, 64> pinned;  // the library's own; a place serves one address
  Range heap;                    // by brk; grows
};
extern constinit HostRanges host_ranges;
struct StackRange {
  uintptr_t low = 0, bytes = 0;
};
extern constinit thread_local StackRange stack_range __attribute__((tls_model("initial-exec")));
TERN_COLD MemoryKind ask(const void* address) noexcept;
}  // namespace detail

/// The buffers of a call, which stay what they are as long as it lasts: the driver is asked once
/// about each, by the thread that makes the call. Two at most. Null: none.
class CallBuffers {
 public:
  CallBuffers(const void* one, const void* other) noexcept;
  CallBuffers(const CallBuffers&) = delete;
  CallBuffers& operator=(const CallBuffers&) = delete;
  ~CallBuffers();
  struct Known {
    const void* address = nullptr;
    MemoryKind kind = MemoryKind::kUnknown;
    bool looked_up = false;
    Memory memory;
  };
  /// Null: none of the calls' of this thread.
  [[nodiscard]] static Known* find(const void* address) noexcept;

 private:
  std::array<Known, 2> known_;
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

/// Pinned memory that the library has made is the host's, without the driver being asked: who must
/// not call it may use such memory. Forgotten before it is freed. Where there are too many, the
/// driver is asked.
void know_pinned(const void* begin, size_t bytes) noexcept;
void forget_pinned(const void* begin) noexcept;

/// Everything about an address; kHost where no driver is there.
[[nodiscard]] Memory look_up(const void* address) noexcept;

}  // namespace tern::cuda
