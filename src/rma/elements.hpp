// SPDX-License-Identifier: Apache-2.0
// Elements: the units of accumulates in shared memory, and their operands. Threads: any. See:
// rma/stripes.hpp.
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

struct Element {
  core::Op::Loop loop = nullptr;
  size_t size = 0;  // packed
  size_t extent = 0;
  size_t span = 0;  // to the end of its last byte of data
  const core::Op* op = nullptr;
  core::Datatype* basic = nullptr;
  size_t alignment = 1;  // a power of 2 required by `loop`; window elements may be less aligned
  static constexpr size_t kMostExtent = 64;
  [[nodiscard]] bool padded() const noexcept { return size != extent; }
  [[nodiscard]] bool is_aligned(const void* at) const noexcept {
    return (reinterpret_cast<uintptr_t>(at) & (alignment - 1)) == 0;
  }
};

/// Elements in memory shared by several accumulates. `origin`: place 0.
struct Shared {
  Control control;
  const std::byte* origin;
  int32_t holder;  // this process's pid
};

/// Arrays with an element's extent as stride.
struct Operands {
  const std::byte* in;  // null: no input
  std::byte* result;    // the old elements; null: not requested
  [[nodiscard]] Operands behind(size_t bytes) const noexcept {
    return {in == nullptr ? nullptr : in + bytes, result == nullptr ? nullptr : result + bytes};
  }
};

/// Atomic changes of elements in a part of a window. Each path has one kind: mapped
/// (rma/stripes.hpp), copied by the kernel (rma/far_elements.hpp), or on a device
/// (rma/device_elements.hpp).
class ElementMemory {
 public:
  explicit ElementMemory(const Shared& shared) noexcept : shared_(shared) {}
  ElementMemory(const ElementMemory&) = delete;
  ElementMemory& operator=(const ElementMemory&) = delete;
  virtual ~ElementMemory() = default;

  /// Computes at[i] = in[i] (op) at[i], each element atomically. Returns 0, or an error class with
  /// fail() text: MPI_ERR_OTHER after the death of a stripe's holder.
  [[nodiscard]] virtual int apply(std::byte* at, size_t count, const Element& element,
                                  const Operands& operands) noexcept = 0;
  /// Applies to memory pieces. `packed`: the packed position of their first byte. Operands start
  /// with the first element beginning in the pieces.
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

/// The common element of both types, for an accumulate. Returns 0, or an error class with fail()
/// text.
[[nodiscard]] int find_element(const core::Op& op, const core::Datatype& origin,
                               const core::Datatype& target, Element* found) noexcept;
/// Requires a held stripe, or memory invisible to other processes.
void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept;

}  // namespace tern::rma
