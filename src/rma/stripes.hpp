// SPDX-License-Identifier: Apache-2.0
// Stripes: accumulates apply their elements one at a time, whatever their types and origins.
// Why: one mechanism for every predefined type, alignment and operation, so that all mix: eight
// locks per target, by the place in its memory. Alone an element costs one atomic operation, as a
// loop of compare-and-swap would; long vectors run as fast as a plain loop.
// Who holds a stripe waits for nothing. A holder that has died is found, and gives an error.
// Threads: any, of any process of the host. See: tests/unit/rma/stripes_test.cc.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "core/op.hpp"
#include "rma/control.hpp"

namespace tern::core {
class Datatype;
class Process;
}  // namespace tern::core

namespace tern::rma {

/// One element of a predefined type, and what an operation does to it.
struct Element {
  core::Op::Loop loop = nullptr;
  size_t size = 0;               // packed
  size_t extent = 0;             // from one to the next in memory
  size_t span = 0;               // to the end of its last byte of data
  const core::Op* op = nullptr;  // which one, and of what, for kernels
  core::Datatype* basic = nullptr;
  size_t alignment = 1;  // a power of 2, that `loop` needs; a window's element may lie anywhere
  static constexpr size_t kMostExtent = 64;
  [[nodiscard]] bool padded() const noexcept { return size != extent; }
  [[nodiscard]] bool is_aligned(const void* at) const noexcept {
    return (reinterpret_cast<uintptr_t>(at) & (alignment - 1)) == 0;
  }
};

/// Elements in memory that accumulates share. `origin`: what places are counted from.
struct Shared {
  Control control;
  const std::byte* origin;
  int32_t holder;       // the own pid
  int32_t process = 0;  // whose addresses these are, if the kernel copies elements from there
  core::Process* device = nullptr;  // the own one, if these are addresses of a device of it
};

/// Elements that are moved: arrays, in which an element takes its extent.
struct Operands {
  const std::byte* in;  // null: nothing goes in
  std::byte* result;    // what was there before; null: not asked for
  [[nodiscard]] Operands behind(size_t bytes) const noexcept {
    return {in == nullptr ? nullptr : in + bytes, result == nullptr ? nullptr : result + bytes};
  }
};

/// `op` is predefined; `loop` is null where it is not defined on the type.
[[nodiscard]] Element element_of(const core::Op& op, const core::Datatype& basic) noexcept;

/// at[i] = in[i] (op) at[i], each element at once. Returns 0, or MPI_ERR_OTHER with fail() text
/// where the holder of a stripe has died.
[[nodiscard]] int apply(const Shared& shared, std::byte* at, size_t count, const Element& element,
                        const Operands& operands) noexcept;
/// The same for memory pieces, whose first byte is byte `packed` of the packed elements; operands
/// begin with the first element that begins there.
[[nodiscard]] int apply(const Shared& shared, const iovec* pieces, size_t count, size_t packed,
                        const Element& element, const Operands& operands) noexcept;
/// Of elements in this process' memory whose stripe is held, or that no other process sees.
void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept;
/// Writes `value` where `compare` is; `result` gets what was there. Of one element.
[[nodiscard]] int compare_and_swap(const Shared& shared, std::byte* at, size_t bytes,
                                   const void* compare, const void* value, void* result) noexcept;

}  // namespace tern::rma
