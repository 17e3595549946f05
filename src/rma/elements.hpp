// SPDX-License-Identifier: Apache-2.0
// Elements of accumulates, and their operands. Threads: any.
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
  size_t size = 0;
  size_t extent = 0;
  size_t span = 0;  // end of the last byte
  const core::Op* op = nullptr;
  core::Datatype* basic = nullptr;
  size_t alignment = 1;  // a power of 2, for `loop`; window elements may be less aligned
  static constexpr size_t kMostExtent = 64;
  [[nodiscard]] bool padded() const noexcept { return size != extent; }
  [[nodiscard]] bool is_aligned(const void* at) const noexcept {
    return (reinterpret_cast<uintptr_t>(at) & (alignment - 1)) == 0;
  }
};

/// `origin` is the address of place 0.
struct Shared {
  Control control;
  const std::byte* origin;
  int32_t holder;
};

/// The arrays' stride is an element's extent.
struct Operands {
  const std::byte* in;
  std::byte* result;  // old elements; null: not requested
  [[nodiscard]] Operands behind(size_t bytes) const noexcept {
    return {in == nullptr ? nullptr : in + bytes, result == nullptr ? nullptr : result + bytes};
  }
};

/// Atomic changes of elements: mapped (Stripes), copied by the kernel (FarElements), or on a device
/// (DeviceElements).
class ElementMemory {
 public:
  explicit ElementMemory(const Shared& shared) noexcept : shared_(shared) {}
  ElementMemory(const ElementMemory&) = delete;
  ElementMemory& operator=(const ElementMemory&) = delete;
  virtual ~ElementMemory() = default;

  /// at[i] = in[i] (op) at[i], each atomically. Returns 0, or an error class with fail() text,
  /// MPI_ERR_OTHER after the death of a stripe's holder.
  [[nodiscard]] virtual int apply(std::byte* at, size_t count, const Element& element,
                                  const Operands& operands) noexcept = 0;
  /// Changes memory pieces. `packed` is their packed position. Operands start with the first
  /// element that begins here.
  [[nodiscard]] virtual int apply(const iovec* pieces, size_t count, size_t packed,
                                  const Element& element, const Operands& operands) noexcept;
  [[nodiscard]] virtual int compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                             const void* value, void* result) noexcept = 0;

 protected:
  const Shared shared_;
};

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

[[nodiscard]] Element element_of(const core::Op& op, const core::Datatype& basic) noexcept;

[[nodiscard]] int find_element(const core::Op& op, const core::Datatype& origin,
                               const core::Datatype& target, Element* found) noexcept;
/// Requires a held stripe, or private memory.
void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept;

}  // namespace tern::rma
