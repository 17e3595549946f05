// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 section 5.1.13: decoding of datatypes.
#include <algorithm>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"

namespace tern::api {
namespace {

using core::Datatype;
using core::Recipe;

int too_short(const char* parameter, MPI_Count has, size_t needs) noexcept {
  return fail(MPI_ERR_ARG,
              "%s is %lld, but this datatype was created with %zu; call MPI_Type_get_envelope%s",
              parameter, static_cast<long long>(has), needs,
              has == 0 ? "_c, and MPI_Type_get_contents_c for large counts" : "");
}

bool shorter(MPI_Count has, size_t needs) noexcept { return has < static_cast<MPI_Count>(needs); }

/// Derived types are new objects, freed by the user.
void give_types(const Recipe& recipe, MPI_Datatype* types) {
  for (const auto& part : recipe.types) {
    if (part->predefined() || part->permanent())
      *types++ = reinterpret_cast<MPI_Datatype>(part->handle());
    else
      give_type(core::TypeBuilder::copy(*part), types++);
  }
}

}  // namespace

int type_get_envelope(Datatype& datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                      MPI_Count* num_large_counts, MPI_Count* num_datatypes,
                      int* combiner) noexcept {
  const Recipe& recipe = datatype.recipe();
  *num_integers = static_cast<MPI_Count>(recipe.integers.size());
  *num_addresses = static_cast<MPI_Count>(recipe.addresses.size());
  if (num_large_counts != nullptr) *num_large_counts = static_cast<MPI_Count>(recipe.counts.size());
  *num_datatypes = static_cast<MPI_Count>(recipe.types.size());
  *combiner = recipe.combiner;
  return MPI_SUCCESS;
}

int type_get_contents(Datatype& datatype, MPI_Count max_integers, MPI_Count max_addresses,
                      MPI_Count max_large_counts, MPI_Count max_datatypes, int* integers,
                      MPI_Aint* addresses, MPI_Count* large_counts, MPI_Datatype* types) noexcept {
  const Recipe& recipe = datatype.recipe();
  if (recipe.combiner == MPI_COMBINER_NAMED)
    return fail(MPI_ERR_TYPE, "%s is predefined and has no contents", datatype.name.text().c_str());
  if (shorter(max_large_counts, recipe.counts.size()))
    return too_short("max_large_counts", max_large_counts, recipe.counts.size());
  if (shorter(max_integers, recipe.integers.size()))
    return too_short("max_integers", max_integers, recipe.integers.size());
  if (shorter(max_addresses, recipe.addresses.size()))
    return too_short("max_addresses", max_addresses, recipe.addresses.size());
  if (shorter(max_datatypes, recipe.types.size()))
    return too_short("max_datatypes", max_datatypes, recipe.types.size());
  std::copy(recipe.integers.begin(), recipe.integers.end(), integers);
  std::copy(recipe.addresses.begin(), recipe.addresses.end(), addresses);
  std::copy(recipe.counts.begin(), recipe.counts.end(), large_counts);
  return guarded([&] { give_types(recipe, types); });
}

}  // namespace tern::api
