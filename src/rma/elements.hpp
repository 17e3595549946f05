// SPDX-License-Identifier: Apache-2.0
// Elements: the units of accumulates in shared memory, and their operands.
// Threads: any. See: rma/stripes.hpp.
#pragma once

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
  int32_t holder;       // the own pid
  int32_t process = 0;  // not 0: addresses are of this process, and the kernel copies elements
  core::Process* device = nullptr;  // not null: addresses are of a device of this process
};

/// Arrays with the extent of an element as stride.
struct Operands {
  const std::byte* in;  // null: nothing goes in
  std::byte* result;    // the old elements; null: not asked for
  [[nodiscard]] Operands behind(size_t bytes) const noexcept {
    return {in == nullptr ? nullptr : in + bytes, result == nullptr ? nullptr : result + bytes};
  }
};

/// `op` is predefined; `loop` is null where the type has no such operation.
[[nodiscard]] Element element_of(const core::Op& op, const core::Datatype& basic) noexcept;

/// The element of both types, for an accumulate. 0, or an error class with fail() text.
[[nodiscard]] int find_element(const core::Op& op, const core::Datatype& origin,
                               const core::Datatype& target, Element* found) noexcept;
/// Of elements in memory of this process under a held stripe, or invisible to other processes.
void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept;

}  // namespace tern::rma
