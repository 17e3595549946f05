// SPDX-License-Identifier: Apache-2.0
// Computes signatures of datatypes recursively from their constituent types.
#include "core/signature.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "core/datatype_recipe.hpp"

namespace tern::core {
namespace {

constexpr uint64_t kBase = 0x9e3779b97f4a7c15;  // odd, so its powers are never 0 modulo 2^64

uint64_t power(uint64_t exponent) noexcept {
  uint64_t result = 1;
  for (uint64_t square = kBase; exponent != 0; exponent >>= 1, square *= square)
    if ((exponent & 1) != 0) result *= square;
  return result;
}

uint64_t mixed(uint64_t code) noexcept {
  code = (code ^ (code >> 31)) * 0x7fb5d329728ea185;
  return (code ^ (code >> 27)) * 0x81dadef4bc2dd44d | 1;
}

Signature basic(MPI_Datatype constant) noexcept {
  return {mixed(reinterpret_cast<uintptr_t>(constant)), 1};
}

Signature pair(MPI_Datatype first, MPI_Datatype second) noexcept {
  return concatenated(basic(first), basic(second));
}

Signature predefined(const Datatype& type) noexcept {
  const auto constant = reinterpret_cast<MPI_Datatype>(type.handle());
  if (constant == MPI_FLOAT_INT) return pair(MPI_FLOAT, MPI_INT);
  if (constant == MPI_DOUBLE_INT) return pair(MPI_DOUBLE, MPI_INT);
  if (constant == MPI_LONG_INT) return pair(MPI_LONG, MPI_INT);
  if (constant == MPI_2INT) return pair(MPI_INT, MPI_INT);
  if (constant == MPI_SHORT_INT) return pair(MPI_SHORT, MPI_INT);
  if (constant == MPI_LONG_DOUBLE_INT) return pair(MPI_LONG_DOUBLE, MPI_INT);
  if (constant == MPI_2REAL) return pair(MPI_REAL, MPI_REAL);
  if (constant == MPI_2DOUBLE_PRECISION) return pair(MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION);
  if (constant == MPI_2INTEGER) return pair(MPI_INTEGER, MPI_INTEGER);
  return basic(constant);
}

uint64_t elements_of(const Datatype& type) noexcept {
  return static_cast<uint64_t>(std::max<MPI_Count>(type.elements(), 0));
}

Signature prefix_of(const Datatype& type, uint64_t elements) noexcept;

Signature prefix_of_many(const Datatype& type, uint64_t elements) noexcept {
  const uint64_t each = elements_of(type);
  if (each == 0) return {};
  return concatenated(repeated(signature_of(type), elements / each),
                      prefix_of(type, elements % each));
}

Signature prefix_of(const Datatype& type, uint64_t elements) noexcept {
  if (elements == 0) return {};
  const Recipe& recipe = type.recipe();
  if (recipe.types.empty()) {
    const Signature whole = predefined(type);
    if (elements >= whole.elements) return whole;
    const auto constant = reinterpret_cast<MPI_Datatype>(type.handle());
    for (MPI_Datatype half : {MPI_FLOAT, MPI_DOUBLE, MPI_LONG, MPI_INT, MPI_SHORT, MPI_LONG_DOUBLE,
                              MPI_REAL, MPI_DOUBLE_PRECISION, MPI_INTEGER})
      for (MPI_Datatype other : {MPI_INT, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_INTEGER})
        if (constant != half && whole == pair(half, other)) return basic(half);
    return {};
  }
  if (recipe.repeats.empty()) return prefix_of_many(*recipe.types[0], elements);
  Signature sum;
  for (size_t i = 0; i < recipe.types.size() && sum.elements < elements; ++i) {
    const uint64_t part = static_cast<uint64_t>(recipe.repeats[i]) * elements_of(*recipe.types[i]);
    sum = concatenated(sum,
                       prefix_of_many(*recipe.types[i], std::min(part, elements - sum.elements)));
  }
  return sum;
}

}  // namespace

Signature concatenated(const Signature& first, const Signature& second) noexcept {
  return {first.hash * power(second.elements) + second.hash, first.elements + second.elements};
}

Signature repeated(const Signature& one, uint64_t times) noexcept {
  Signature result;
  for (Signature doubled = one; times != 0; times >>= 1, doubled = concatenated(doubled, doubled))
    if ((times & 1) != 0) result = concatenated(result, doubled);
  return result;
}

Signature signature_of(const Datatype& type) noexcept { return prefix_of(type, elements_of(type)); }

Signature signature_prefix(const Datatype& type, MPI_Count count, uint64_t elements) noexcept {
  const uint64_t all = elements_of(type) * static_cast<uint64_t>(std::max<MPI_Count>(count, 0));
  return prefix_of_many(type, std::min(elements, all));
}

std::string in_words(const Datatype& type, MPI_Count count) {
  if (const std::string name = type.name.text(); type.predefined() || !name.empty())
    return strf("%lld %s", static_cast<long long>(count), name.c_str());
  const std::string what = type.basic() != nullptr ? "all " + type.basic()->name.text()
                                                   : std::string("of several types");
  return strf("%lld of a derived type (%llu basic elements each, %s)",
              static_cast<long long>(count), static_cast<unsigned long long>(elements_of(type)),
              what.c_str());
}

}  // namespace tern::core
