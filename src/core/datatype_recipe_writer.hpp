// SPDX-License-Identifier: Apache-2.0
// RecipeWriter: sorts a constructor's arguments into the arrays of MPI_Type_get_contents.
#pragma once

#include <limits>

#include "core/datatype.hpp"
#include "core/datatype_recipe.hpp"

namespace tern::core {

inline bool beyond_int(const MPI_Count* values, MPI_Count count) noexcept {
  bool beyond = false;
  for (MPI_Count i = 0; i < count; ++i) beyond |= values[i] != static_cast<int>(values[i]);
  return beyond;
}
inline bool beyond_int(MPI_Count value) noexcept { return beyond_int(&value, 1); }

class RecipeWriter {
 public:
  RecipeWriter(int combiner, bool large) noexcept : large_(large) { recipe_.combiner = combiner; }

  /// plain() writes an int in every form of the call.
  RecipeWriter& plain(int value) {
    recipe_.integers.push_back(value);
    return *this;
  }
  RecipeWriter& count(MPI_Count value) { return counts(&value, 1); }
  RecipeWriter& address(MPI_Count value) { return addresses(&value, 1); }
  RecipeWriter& plains(const int* values, MPI_Count count) {
    recipe_.integers.insert(recipe_.integers.end(), values, values + count);
    return *this;
  }
  RecipeWriter& counts(const MPI_Count* values, MPI_Count count) {
    if (large_) return larges(values, count);
    recipe_.integers.reserve(recipe_.integers.size() + static_cast<size_t>(count));
    for (MPI_Count i = 0; i < count; ++i) recipe_.integers.push_back(static_cast<int>(values[i]));
    return *this;
  }
  RecipeWriter& addresses(const MPI_Count* values, MPI_Count count) {
    if (large_) return larges(values, count);
    recipe_.addresses.insert(recipe_.addresses.end(), values, values + count);
    return *this;
  }
  [[nodiscard]] Recipe done() { return std::move(recipe_); }

 private:
  RecipeWriter& larges(const MPI_Count* values, MPI_Count count) {
    recipe_.counts.insert(recipe_.counts.end(), values, values + count);
    return *this;
  }
  bool large_;
  Recipe recipe_;
};

}  // namespace tern::core
