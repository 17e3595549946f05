// SPDX-License-Identifier: Apache-2.0
// Recipe: counting basic elements through the types that a type is made of.
#include "core/datatype_recipe.hpp"

#include "core/datatype.hpp"

namespace tern::core {
namespace {

struct PairSizes {
  MPI_Count value, index;
};

/// The two halves of a pair type; {0, 0} for any other.
PairSizes pair_sizes(const Datatype& type) noexcept {
  if (type.number() < Number::kFloatInt || type.number() > Number::kDoubleDouble) return {0, 0};
  if (type.number() >= Number::kFloatFloat) return {type.size() / 2, type.size() / 2};
  return {type.size() - 4, 4};
}

}  // namespace

MPI_Count Recipe::elements_in(const Datatype& type, MPI_Count bytes) const noexcept {
  if (types.empty()) return pair_sizes(type).value == bytes ? 1 : -1;
  if (repeats.empty()) return types[0]->elements_in(bytes);
  MPI_Count elements = 0;
  for (size_t i = 0; i < types.size() && bytes > 0; ++i) {
    const MPI_Count part = repeats[i] * types[i]->size();
    if (bytes < part) {
      const MPI_Count last = types[i]->elements_in(bytes);
      return last < 0 ? -1 : elements + last;
    }
    elements += repeats[i] * types[i]->elements();
    bytes -= part;
  }
  return elements;
}

MPI_Count Recipe::bytes_of(const Datatype& type, MPI_Count elements) const noexcept {
  if (types.empty()) return elements == 1 ? pair_sizes(type).value : 0;
  if (repeats.empty()) return types[0]->bytes_of(elements);
  MPI_Count bytes = 0;
  for (size_t i = 0; i < types.size() && elements > 0; ++i) {
    const MPI_Count part = repeats[i] * types[i]->elements();
    if (elements < part) return bytes + types[i]->bytes_of(elements);
    bytes += repeats[i] * types[i]->size();
    elements -= part;
  }
  return bytes;
}

}  // namespace tern::core
