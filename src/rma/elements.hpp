// SPDX-License-Identifier: Apache-2.0
// Elements: the units of accumulates in shared memory, and their operands.
// Threads: any. See: rma/stripes.hpp.
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

/// An element of a predefined type, and the operation on it.
struct Element {
  core::Op::Loop loop = nullptr;
  size_t size = 0;               // packed
  size_t extent = 0;             // distance of neighbours in memory
  size_t span = 0;               // to the end of its last byte of data
  const core::Op* op = nullptr;  // null in a target's box
  core::Datatype* basic = nullptr;
  size_t alignment = 1;  // a power of 2, for `loop`; an element of a window may lie anywhere
  static constexpr size_t kMostExtent = 64;
  [[nodiscard]] bool padded() const noexcept { return size != extent; }
  [[nodiscard]] bool is_aligned(const void* at) const noexcept {
    return (reinterpret_cast<uintptr_t>(at) & (alignment - 1)) == 0;
  }
};

/// Elements in memory of several accumulates. `origin`: place 0.
struct Shared {
  Control control;
  const std::byte* origin;
  int32_t holder;  // the own pid
};

/// Arrays with the extent of an element as stride.
struct Operands {
  const std::byte* in;  // null: nothing goes in
  std::byte* result;    // the old elements; null: not asked for
  [[nodiscard]] Operands behind(size_t bytes) const noexcept {
    return {in == nullptr ? nullptr : in + bytes, result == nullptr ? nullptr : result + bytes};
  }
};

/// Atomic changes of elements in a part of a window. A path has one kind: mapped (rma/stripes.hpp),
/// copied by the kernel (rma/far_elements.hpp), or on a device (rma/device_elements.hpp).
class ElementMemory {
 public:
  explicit ElementMemory(const Shared& shared) noexcept : shared_(shared) {}
  ElementMemory(const ElementMemory&) = delete;
  ElementMemory& operator=(const ElementMemory&) = delete;
  virtual ~ElementMemory() = default;

  /// at[i] = in[i] (op) at[i], each element atomically. Returns 0, or an error class with fail()
  /// text: MPI_ERR_OTHER after the death of a stripe's holder.
  [[nodiscard]] virtual int apply(std::byte* at, size_t count, const Element& element,
                                  const Operands& operands) noexcept = 0;
  /// The same for memory pieces. `packed`: the place of their first byte in the packed elements.
  /// Operands begin with the first element to begin in the pieces.
  [[nodiscard]] virtual int apply(const iovec* pieces, size_t count, size_t packed,
                                  const Element& element, const Operands& operands) noexcept;
  /// Writes `value` to an element equal to `compare`; `result` gets the old element.
  [[nodiscard]] virtual int compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                             const void* value, void* result) noexcept = 0;

 protected:
  const Shared shared_;
};

/// Calls `body(at, count)` for adjacent elements in pieces, up to the first failure.
template <class Body>
[[nodiscard]] int for_each_array(const iovec* pieces, size_t count, size_t packed,
                                 const Element& element, Body&& body) noexcept {
  for (size_t i = 0; i < count; packed += pieces[i].iov_len, ++i) {
    auto* const piece = static_cast<std::byte*>(pieces[i].iov_base);
    size_t skipped = (packed + element.size - 1) / element.size * element.size - packed;
    while (skipped < pieces[i].iov_len) {
      const size_t elements = element.padded() ? 1 : (pieces[i].iov_len - skipped) / element.size;
      if (elements == 0) break;
      if (const int code = body(piece + skipped, elements); code != 0) return code;
      skipped += elements * element.size;
    }
  }
  return 0;
}

/// `op` is predefined; `loop` is null where the type has no such operation.
[[nodiscard]] Element element_of(const core::Op& op, const core::Datatype& basic) noexcept;

/// The element of both types, for an accumulate. 0, or an error class with fail() text.
[[nodiscard]] int find_element(const core::Op& op, const core::Datatype& origin,
                               const core::Datatype& target, Element* found) noexcept;
/// Of elements in memory of this process under a held stripe, or invisible to other processes.
void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept;

}  // namespace tern::rma
