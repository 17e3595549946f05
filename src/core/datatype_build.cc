// SPDX-License-Identifier: Apache-2.0
// TypeBuilder: bounds, layouts and recipes.
#include "core/datatype_build.hpp"

#include <unordered_map>

#include "base/error.hpp"
#include "core/datatype_recipe_writer.hpp"

namespace tern::core {

Extremes TypeBuilder::extremes(const Datatype& type) noexcept {
  return {type.lb_, type.lb_ + type.extent_, type.lb_marked_, type.ub_marked_,
          type.elements_ == 0 && !type.lb_marked_ && !type.ub_marked_};
}

Extremes TypeBuilder::repeated(const Datatype& old, MPI_Count count, MPI_Count stride) {
  Bounds bounds;
  bounds.add(extremes(old), 0, count, stride);
  return bounds.result();
}

void TypeBuilder::settle(Datatype& type, Recipe recipe, PlacedLayout layout,
                         const Extremes& bounds) {
  type.lb_ = bounds.lb;
  type.extent_ = bounds.ub - bounds.lb;
  type.lb_marked_ = bounds.lb_marked;
  type.ub_marked_ = bounds.ub_marked;
  type.size_ = layout.size();
  if (layout.node) {
    type.true_lb_ = add_bytes(layout.at, layout.node->low);
    type.true_extent_ = layout.node->high - layout.node->low;
  }
  type.contiguous_ = !layout.node || (layout.node->block() && type.size_ == type.extent_);
  type.layout_ = std::move(layout);
  type.recipe_ = std::make_shared<const Recipe>(std::move(recipe));
}

TypeBuilder::NewType TypeBuilder::of_one(Recipe recipe, PlacedLayout layout, const Extremes& bounds,
                                         Datatype& old) {
  auto type = NewType::adopt(new Datatype);
  recipe.types.emplace_back(&old);
  type->alignment_ = old.alignment_;
  if (layout.node) {
    type->basic_ = old.basic_;
    type->elements_ = multiply_bytes(layout.size() / old.size_, old.elements_);
  }
  settle(*type, std::move(recipe), std::move(layout), bounds);
  return type;
}

Datatype* TypeBuilder::predefined(const char* name, MPI_Count size, Number number, int alignment,
                                  MPI_Aint index_place) {
  const bool twins = number == Number::kFloatFloat || number == Number::kDoubleDouble;
  const MPI_Count index_size = index_place == 0 ? 0 : twins ? size / 2 : MPI_Count{sizeof(int)};
  Assembly parts;
  parts.add(0, block_layout(size - index_size));
  parts.add(index_place, block_layout(index_size));
  PlacedLayout layout = parts.finish();
  const Extremes bounds{0, (layout.node->high + alignment - 1) / alignment * alignment, false,
                        false, false};
  auto* type = new Datatype;
  type->name.set(name);
  type->number_ = number;
  type->basic_ = type;
  type->elements_ = index_place == 0 ? 1 : 2;
  type->alignment_ = alignment;
  type->committed_ = true;
  settle(*type, Recipe{}, std::move(layout), bounds);
  return type;
}

TypeBuilder::NewType TypeBuilder::contiguous(MPI_Count count, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_CONTIGUOUS, large_ || beyond_int(count));
  return of_one(recipe.count(count).done(), strided_layout(count, old.extent_, old.layout_),
                repeated(old, count, old.extent_), old);
}

namespace {

PlacedLayout vector_layout(MPI_Count count, MPI_Count length, MPI_Count stride,
                           const Datatype& old) {
  return strided_layout(count, stride, strided_layout(length, old.extent(), old.layout()));
}

}  // namespace

TypeBuilder::NewType TypeBuilder::vector(MPI_Count count, MPI_Count length, MPI_Count stride,
                                         Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_VECTOR,
                      large_ || beyond_int(count) || beyond_int(length) || beyond_int(stride));
  recipe.count(count).count(length).count(stride);
  const MPI_Count bytes = multiply_bytes(stride, old.extent_);
  Bounds bounds;
  bounds.add(repeated(old, length, old.extent_), 0, count, bytes);
  return of_one(recipe.done(), vector_layout(count, length, bytes, old), bounds.result(), old);
}

TypeBuilder::NewType TypeBuilder::hvector(MPI_Count count, MPI_Count length, MPI_Count stride_bytes,
                                          Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_HVECTOR, large_ || beyond_int(count) || beyond_int(length));
  recipe.count(count).count(length).address(stride_bytes);
  Bounds bounds;
  bounds.add(repeated(old, length, old.extent_), 0, count, stride_bytes);
  return of_one(recipe.done(), vector_layout(count, length, stride_bytes, old), bounds.result(),
                old);
}

struct TypeBuilder::List {
  MPI_Count count;
  const MPI_Count* lengths;  // per block; null: `length` holds for all
  MPI_Count length;
  const MPI_Count* places;
  MPI_Count unit;  // bytes per unit of `places`
};

TypeBuilder::NewType TypeBuilder::listed(Recipe recipe, const List& list, Datatype& old) const {
  const Extremes part = extremes(old);
  const bool dense = old.layout_.node && old.contiguous_;
  Bounds bounds;
  Assembly parts;
  parts.reserve(static_cast<size_t>(list.count));
  std::unordered_map<MPI_Count, PlacedLayout> made;  // blocks of equal length share a node
  for (MPI_Count i = 0; i < list.count; ++i) {
    const MPI_Count length = list.lengths != nullptr ? list.lengths[i] : list.length;
    if (length == 0) continue;
    const MPI_Count at = multiply_bytes(list.places[i], list.unit);
    bounds.add(part, at, length, old.extent_);
    if (dense) {
      parts.add_block(add_bytes(at, old.layout_.at), multiply_bytes(length, old.size_));
      continue;
    }
    PlacedLayout& block = made[length];
    if (!block.node) block = strided_layout(length, old.extent_, old.layout_);
    parts.add(at, block);
  }
  return of_one(std::move(recipe), parts.finish(), bounds.result(), old);
}

TypeBuilder::NewType TypeBuilder::indexed(MPI_Count count, const MPI_Count* lengths,
                                          const MPI_Count* places, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_INDEXED, large_ || beyond_int(count) ||
                                                beyond_int(lengths, count) ||
                                                beyond_int(places, count));
  recipe.count(count).counts(lengths, count).counts(places, count);
  return listed(recipe.done(), {count, lengths, 0, places, old.extent_}, old);
}

TypeBuilder::NewType TypeBuilder::hindexed(MPI_Count count, const MPI_Count* lengths,
                                           const MPI_Count* places, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_HINDEXED,
                      large_ || beyond_int(count) || beyond_int(lengths, count));
  recipe.count(count).counts(lengths, count).addresses(places, count);
  return listed(recipe.done(), {count, lengths, 0, places, 1}, old);
}

TypeBuilder::NewType TypeBuilder::indexed_block(MPI_Count count, MPI_Count length,
                                                const MPI_Count* places, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_INDEXED_BLOCK, large_ || beyond_int(count) ||
                                                      beyond_int(length) ||
                                                      beyond_int(places, count));
  recipe.count(count).count(length).counts(places, count);
  return listed(recipe.done(), {count, nullptr, length, places, old.extent_}, old);
}

TypeBuilder::NewType TypeBuilder::hindexed_block(MPI_Count count, MPI_Count length,
                                                 const MPI_Count* places, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_HINDEXED_BLOCK,
                      large_ || beyond_int(count) || beyond_int(length));
  recipe.count(count).count(length).addresses(places, count);
  return listed(recipe.done(), {count, nullptr, length, places, 1}, old);
}

TypeBuilder::NewType TypeBuilder::structure(MPI_Count count, const MPI_Count* lengths,
                                            const MPI_Count* places, Datatype* const* types) const {
  RecipeWriter writer(MPI_COMBINER_STRUCT,
                      large_ || beyond_int(count) || beyond_int(lengths, count));
  writer.count(count).counts(lengths, count).addresses(places, count);
  Recipe recipe = writer.done();
  auto type = NewType::adopt(new Datatype);
  Bounds bounds;
  Assembly parts;
  for (MPI_Count i = 0; i < count; ++i) {
    Datatype& part = *types[i];
    recipe.types.emplace_back(&part);
    recipe.repeats.push_back(lengths[i]);
    bounds.add(extremes(part), places[i], lengths[i], part.extent_);
    parts.add(places[i], strided_layout(lengths[i], part.extent_, part.layout_));
    const MPI_Count elements = multiply_bytes(lengths[i], part.elements_);
    if (elements == 0) continue;
    type->basic_ = type->elements_ == 0 || type->basic_ == part.basic_ ? part.basic_ : nullptr;
    type->elements_ = add_bytes(type->elements_, elements);
    type->alignment_ = std::max(type->alignment_, part.alignment_);
  }
  settle(*type, std::move(recipe), parts.finish(), bounds.result(type->alignment_));
  return type;
}

TypeBuilder::NewType TypeBuilder::resized(Datatype& old, MPI_Count lb, MPI_Count extent) const {
  RecipeWriter recipe(MPI_COMBINER_RESIZED, large_);
  recipe.address(lb).address(extent);
  return of_one(recipe.done(), old.layout_, {lb, add_bytes(lb, extent), true, true, false}, old);
}

TypeBuilder::NewType TypeBuilder::subarray(int dims, const MPI_Count* sizes,
                                           const MPI_Count* subsizes, const MPI_Count* starts,
                                           int order, Datatype& old) const {
  RecipeWriter recipe(MPI_COMBINER_SUBARRAY, large_ || beyond_int(sizes, dims));
  recipe.plain(dims).counts(sizes, dims).counts(subsizes, dims).counts(starts, dims).plain(order);
  PlacedLayout part = old.layout_;
  MPI_Count stride = old.extent_;
  for (int i = 0; i < dims; ++i) {  // contiguous dimension first
    const int d = order == MPI_ORDER_C ? dims - 1 - i : i;
    part = strided_layout(subsizes[d], stride, part);
    part.at = add_bytes(part.at, multiply_bytes(starts[d], stride));
    stride = multiply_bytes(stride, sizes[d]);
  }
  return of_one(recipe.done(), std::move(part), {0, stride, true, true, false}, old);
}

TypeBuilder::NewType TypeBuilder::dup(Datatype& old) const {
  NewType type =
      of_one(RecipeWriter(MPI_COMBINER_DUP, false).done(), old.layout_, extremes(old), old);
  type->committed_ = old.committed_;
  return type;
}

TypeBuilder::NewType TypeBuilder::copy(const Datatype& old) {
  auto type = NewType::adopt(new Datatype);
  type->alignment_ = old.alignment_;
  type->basic_ = old.basic_;
  type->elements_ = old.elements_;
  type->committed_ = old.committed_;
  settle(*type, Recipe{}, old.layout_, extremes(old));
  type->recipe_ = old.recipe_;
  return type;
}

}  // namespace tern::core
