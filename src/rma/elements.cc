// SPDX-License-Identifier: Apache-2.0
#include "rma/elements.hpp"

#include <cstring>

#include "base/error.hpp"
#include "core/datatype.hpp"
#include "mpi.h"

namespace tern::rma {
namespace {

/// MPI_SHORT_INT's padding must stay unwritten.
void copy_value(std::byte* to, const std::byte* from, const Element& element) noexcept {
  if (element.size == element.span) {
    std::memcpy(to, from, element.span);
    return;
  }
  struct Pair {
    short value;
    int index;
  };
  std::memcpy(to, from, sizeof(short));
  std::memcpy(to + offsetof(Pair, index), from + offsetof(Pair, index), sizeof(int));
}

/// Handles gaps (the last may lie outside the window), and unaligned elements.
void apply_singly(std::byte* at, size_t count, const Element& element, const std::byte* in,
                  std::byte* result) noexcept {
  alignas(16) std::byte here[Element::kMostExtent] = {}, operand[Element::kMostExtent] = {};
  for (size_t i = 0; i < count; ++i, at += element.extent) {
    std::memcpy(here, at, element.span);
    if (result != nullptr) copy_value(result + i * element.extent, here, element);
    if (in == nullptr) continue;
    std::memcpy(operand, in + i * element.extent, element.span);
    element.loop(operand, here, 1);
    copy_value(at, here, element);
  }
}

/// Equal types may belong to different languages.
bool same_elements(const core::Datatype& one, const core::Datatype& other) noexcept {
  return &one == &other || (one.number() == other.number() && one.size() == other.size());
}

}  // namespace

Element element_of(const core::Op& op, const core::Datatype& basic) noexcept {
  const auto extent = static_cast<size_t>(basic.extent());
  TERN_ASSERT(extent <= Element::kMostExtent);
  Element element;
  element.loop = op.loop(basic);
  element.size = static_cast<size_t>(basic.size());
  element.extent = extent;
  element.span = static_cast<size_t>(basic.true_lb() + basic.true_extent());
  element.alignment = static_cast<size_t>(basic.alignment());
  element.op = &op;
  element.basic = const_cast<core::Datatype*>(&basic);
  return element;
}

void apply_held(std::byte* at, size_t count, const Element& element,
                const Operands& operands) noexcept {
  const auto [in, result] = operands;
  if (element.size != element.extent || !element.is_aligned(at) || !element.is_aligned(in))
    return apply_singly(at, count, element, in, result);
  if (result != nullptr) std::memcpy(result, at, count * element.extent);
  if (in != nullptr) element.loop(in, at, count);
}

int ElementMemory::apply(const iovec* pieces, size_t count, size_t packed, const Element& element,
                         const Operands& operands) noexcept {
  Operands rest = operands;
  return for_each_array(pieces, count, packed, element, [&](std::byte* at, size_t elements) {
    const int code = apply(at, elements, element, rest);
    rest = rest.behind(elements * element.extent);
    return code;
  });
}

int find_element(const core::Op& op, const core::Datatype& origin, const core::Datatype& target,
                 Element* found) noexcept {
  if (op.user_defined())
    return fail(MPI_ERR_OP,
                "op was created by MPI_Op_create, but accumulates take predefined operations only");
  const core::Datatype* const basic = target.basic();
  if (basic == nullptr)
    return fail(MPI_ERR_TYPE,
                "the target's datatype has several basic types, but an accumulate takes elements "
                "of a single predefined type");
  if (origin.basic() == nullptr || !same_elements(*origin.basic(), *basic))
    return fail(MPI_ERR_TYPE, "the origin's datatype has other elements than the target's, %s",
                basic->name.text().c_str());
  *found = element_of(op, *basic);
  if (found->loop != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_OP, "%s is not defined on %s; see MPI-5.0 section 6.9.2 for its types",
              op.name(), basic->name.text().c_str());
}

}  // namespace tern::rma
