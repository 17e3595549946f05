// SPDX-License-Identifier: Apache-2.0
#include "io/file_types.hpp"

#include <algorithm>
#include <vector>

#include "core/datatype_build.hpp"

namespace tern::io {
namespace {

using core::add_bytes;
using core::Datatype;
using core::multiply_bytes;
using core::Recipe;
using core::Ref;
using core::TypeBuilder;
using Numbers = std::vector<MPI_Count>;

/// Reads the arguments of a constructor in their order; core::RecipeWriter writes these arguments.
class RecipeReader {
 public:
  explicit RecipeReader(const Recipe& recipe) noexcept
      : recipe_(recipe), large_(!recipe.counts.empty()) {}

  [[nodiscard]] bool large() const noexcept { return large_; }
  int plain() noexcept { return recipe_.integers[integer_++]; }
  std::vector<int> plains(MPI_Count count) {
    const auto from = recipe_.integers.begin() + static_cast<ptrdiff_t>(integer_);
    integer_ += static_cast<size_t>(count);
    return {from, from + count};
  }
  MPI_Count count() noexcept {
    return large_ ? recipe_.counts[large_count_++] : recipe_.integers[integer_++];
  }
  MPI_Count address() noexcept {
    return large_ ? recipe_.counts[large_count_++] : recipe_.addresses[address_++];
  }
  Numbers counts(MPI_Count count_of_counts) {
    Numbers numbers(static_cast<size_t>(count_of_counts));
    for (MPI_Count& number : numbers) number = count();
    return numbers;
  }
  Numbers addresses(MPI_Count count_of_addresses) {
    Numbers numbers(static_cast<size_t>(count_of_addresses));
    for (MPI_Count& number : numbers) number = address();
    return numbers;
  }

 private:
  const Recipe& recipe_;
  const bool large_;
  size_t integer_ = 0, address_ = 0, large_count_ = 0;
};

Ref<Datatype> listed(int combiner, RecipeReader& recipe, const TypeBuilder& build, Datatype& old) {
  const MPI_Count count = recipe.count();
  if (combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK) {
    const bool in_bytes = combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const MPI_Count length = recipe.count();
    const Numbers places = in_bytes ? recipe.addresses(count) : recipe.counts(count);
    return in_bytes ? build.hindexed_block(count, length, places.data(), old)
                    : build.indexed_block(count, length, places.data(), old);
  }
  const bool in_bytes = combiner == MPI_COMBINER_HINDEXED;
  const Numbers lengths = recipe.counts(count);
  const Numbers places = in_bytes ? recipe.addresses(count) : recipe.counts(count);
  return in_bytes ? build.hindexed(count, lengths.data(), places.data(), old)
                  : build.indexed(count, lengths.data(), places.data(), old);
}

Ref<Datatype> subarray(RecipeReader& recipe, const TypeBuilder& build, Datatype& old) {
  const int dims = recipe.plain();
  const Numbers sizes = recipe.counts(dims), subsizes = recipe.counts(dims),
                starts = recipe.counts(dims);
  return build.subarray(dims, sizes.data(), subsizes.data(), starts.data(), recipe.plain(), old);
}

Ref<Datatype> darray(RecipeReader& recipe, const TypeBuilder& build, Datatype& old) {
  const int size = recipe.plain(), rank = recipe.plain(), dims = recipe.plain();
  const Numbers sizes = recipe.counts(dims);
  const std::vector<int> kinds = recipe.plains(dims), arguments = recipe.plains(dims),
                         grid = recipe.plains(dims);
  return build.darray(
      {size, rank, dims, sizes.data(), kinds.data(), arguments.data(), grid.data(), recipe.plain()},
      old);
}

}  // namespace

Ref<Datatype> TypeReplacer::of(const Datatype& type) {
  if (const auto found = made_.find(&type); found != made_.end()) return found->second;
  Ref<Datatype> made = built(type);
  made_.emplace(&type, made);
  return made;
}

Ref<Datatype> TypeReplacer::built(const Datatype& type) {
  const Recipe& parts = type.recipe();
  std::vector<Ref<Datatype>> olds;
  std::vector<Datatype*> pointers;
  for (const Ref<Datatype>& part : parts.types)
    pointers.push_back(olds.emplace_back(of(*part)).get());
  RecipeReader recipe(parts);
  const TypeBuilder build(recipe.large());
  switch (parts.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_INTEGER:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
      return replacement_(*type.basic());
    case MPI_COMBINER_DUP:
      return olds[0];
    case MPI_COMBINER_CONTIGUOUS:
      return build.contiguous(recipe.count(), *olds[0]);
    case MPI_COMBINER_VECTOR: {
      const Numbers numbers = recipe.counts(3);
      return build.vector(numbers[0], numbers[1], numbers[2], *olds[0]);
    }
    case MPI_COMBINER_HVECTOR: {
      const Numbers numbers = recipe.counts(2);
      return build.hvector(numbers[0], numbers[1], recipe.address(), *olds[0]);
    }
    case MPI_COMBINER_STRUCT: {
      const MPI_Count count = recipe.count();
      const Numbers lengths = recipe.counts(count), places = recipe.addresses(count);
      return build.structure(count, lengths.data(), places.data(), pointers.data());
    }
    case MPI_COMBINER_RESIZED: {
      const Numbers bounds = recipe.addresses(2);
      return build.resized(*olds[0], bounds[0], bounds[1]);
    }
    case MPI_COMBINER_SUBARRAY:
      return subarray(recipe, build, *olds[0]);
    case MPI_COMBINER_DARRAY:
      return darray(recipe, build, *olds[0]);
    default:
      return listed(parts.combiner, recipe, build, *olds[0]);
  }
}

MPI_Count ItemSum::of(const Datatype& type) {
  if (type.size() <= 0) return 0;
  const auto found = known_.find(&type);
  return found != known_.end() ? found->second
                               : known_.emplace(&type, computed(type)).first->second;
}

MPI_Count ItemSum::computed(const Datatype& type) {
  const Datatype* const basic = type.basic();
  if (basic == &type || (basic != nullptr && basic->size() == type.size())) return of_item_(*basic);
  if (basic != nullptr) return multiply_bytes(type.size() / basic->size(), of(*basic));
  const Recipe& recipe = type.recipe();
  if (recipe.repeats.empty())
    return multiply_bytes(type.size() / recipe.types[0]->size(), of(*recipe.types[0]));
  MPI_Count sum = 0;
  for (size_t part = 0; part < recipe.types.size(); ++part)
    sum = add_bytes(sum, multiply_bytes(recipe.repeats[part], of(*recipe.types[part])));
  return sum;
}

MPI_Count ItemSum::of_first(MPI_Count items, const Datatype& type, ItemSum& counts) {
  if (items == 0) return 0;
  if (type.basic() != nullptr) return multiply_bytes(items, of(*type.basic()));
  const Recipe& recipe = type.recipe();
  const bool repeats = !recipe.repeats.empty();
  MPI_Count sum = 0;
  for (size_t part = 0; items > 0; ++part) {
    const Datatype& old = *recipe.types[part];
    const MPI_Count each = counts.of(old);
    if (each == 0) continue;
    const MPI_Count whole = repeats ? std::min(recipe.repeats[part], items / each) : items / each;
    sum = add_bytes(sum, multiply_bytes(whole, of(old)));
    items -= whole * each;
    if (repeats && whole == recipe.repeats[part]) continue;
    return add_bytes(sum, of_first(items, old, counts));
  }
  return sum;
}

}  // namespace tern::io
