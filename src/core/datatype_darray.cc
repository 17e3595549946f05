// SPDX-License-Identifier: Apache-2.0
// TypeBuilder: distributed arrays, and Fortran's parameterised types.
#include "base/error.hpp"
#include "core/datatype_build.hpp"
#include "core/datatype_recipe_writer.hpp"

namespace tern::core {
namespace {

/// By the standard, all kinds of distribution reduce to block-cyclic.
struct Dealt {
  MPI_Count size, block;
  int processes, coordinate;
};

MPI_Count block_length(const TypeBuilder::Distribution& array, int d) {
  const int kind = array.kinds[d], argument = array.arguments[d], processes = array.grid[d];
  const MPI_Count size = array.sizes[d];
  if (kind == MPI_DISTRIBUTE_NONE) {
    if (processes == 1) return size;
    throw Error(MPI_ERR_ARG, strf("dimension %d is not distributed (MPI_DISTRIBUTE_NONE), but "
                                  "array_of_psizes[%d] is %d, but must be 1",
                                  d, d, processes));
  }
  if (kind != MPI_DISTRIBUTE_BLOCK && kind != MPI_DISTRIBUTE_CYCLIC)
    throw Error(MPI_ERR_ARG, strf("array_of_distribs[%d] is %d; use MPI_DISTRIBUTE_BLOCK, _CYCLIC "
                                  "or _NONE",
                                  d, kind));
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    return kind == MPI_DISTRIBUTE_CYCLIC ? 1 : (size + processes - 1) / processes;
  if (argument < 1 || (kind == MPI_DISTRIBUTE_BLOCK && argument * MPI_Count{processes} < size))
    throw Error(MPI_ERR_ARG, strf("array_of_dargs[%d] is %d, but such blocks on %d processes "
                                  "hold fewer than %lld elements",
                                  d, argument, processes, static_cast<long long>(size)));
  return argument;
}

PlacedLayout dealt_layout(const Dealt& dim, MPI_Count stride, const PlacedLayout& part) {
  const MPI_Count first = dim.coordinate * dim.block, round = dim.processes * dim.block;
  if (first >= dim.size) return {};
  const MPI_Count rounds = (dim.size - first) / round, rest = (dim.size - first) % round;
  const MPI_Count whole = rounds + (rest >= dim.block ? 1 : 0);
  Assembly parts;
  parts.add(multiply_bytes(first, stride), strided_layout(whole, multiply_bytes(round, stride),
                                                          strided_layout(dim.block, stride, part)));
  if (rest > 0 && rest < dim.block)
    parts.add(multiply_bytes(first + whole * round, stride), strided_layout(rest, stride, part));
  return parts.finish();
}

std::vector<Dealt> deal(const TypeBuilder::Distribution& array) {
  std::vector<Dealt> dims(static_cast<size_t>(array.dims));
  int rest = array.rank, below = array.size;
  for (int d = 0; d < array.dims; ++d) {
    below /= array.grid[d];
    dims[static_cast<size_t>(d)] = {array.sizes[d], block_length(array, d), array.grid[d],
                                    rest / below};
    rest %= below;
  }
  return dims;
}

}  // namespace

TypeBuilder::NewType TypeBuilder::darray(const Distribution& array, Datatype& old) const {
  const int n = array.dims;
  RecipeWriter recipe(MPI_COMBINER_DARRAY, large_ || beyond_int(array.sizes, n));
  recipe.plain(array.size).plain(array.rank).plain(n).counts(array.sizes, n);
  recipe.plains(array.kinds, n).plains(array.arguments, n).plains(array.grid, n).plain(array.order);
  const std::vector<Dealt> dims = deal(array);
  PlacedLayout part = old.layout_;
  MPI_Count stride = old.extent_;
  for (int i = 0; i < n; ++i) {  // contiguous dimension first
    const Dealt& dim = dims[static_cast<size_t>(array.order == MPI_ORDER_C ? n - 1 - i : i)];
    part = dealt_layout(dim, stride, part);
    stride = multiply_bytes(stride, dim.size);
  }
  return of_one(recipe.done(), std::move(part), {0, stride, true, true, false}, old);
}

TypeBuilder::NewType TypeBuilder::parameterised(int combiner, int precision, int range,
                                                Datatype& named) {
  RecipeWriter recipe(combiner, false);
  if (combiner != MPI_COMBINER_F90_INTEGER) recipe.plain(precision);
  recipe.plain(range);
  NewType type = copy(named);
  type->committed_ = true;
  type->permanent_ = true;
  type->recipe_ = std::make_shared<const Recipe>(recipe.done());
  return type;
}

}  // namespace tern::core
