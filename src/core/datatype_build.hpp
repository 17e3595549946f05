// SPDX-License-Identifier: Apache-2.0
// TypeBuilder: the constructors of derived datatypes (MPI-5.0 section 5.1.2).
// Errors: Error(MPI_ERR_COUNT) if sizes exceed 64 bits, MPI_ERR_ARG for a wrong argument. The
// result has one reference, no handle, and is not committed.
#pragma once

#include "core/datatype.hpp"
#include "core/datatype_bounds.hpp"
#include "core/datatype_recipe.hpp"

namespace tern::core {

class TypeBuilder {
 public:
  using NewType = Ref<Datatype>;
  /// `large` is the _c form, visible in MPI_Type_get_contents.
  explicit TypeBuilder(bool large = false) noexcept : large_(large) {}

  NewType contiguous(MPI_Count count, Datatype& old) const;
  NewType vector(MPI_Count count, MPI_Count length, MPI_Count stride, Datatype& old) const;
  NewType hvector(MPI_Count count, MPI_Count length, MPI_Count stride_bytes, Datatype& old) const;
  NewType indexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                  Datatype& old) const;
  NewType hindexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                   Datatype& old) const;
  NewType indexed_block(MPI_Count count, MPI_Count length, const MPI_Count* places,
                        Datatype& old) const;
  NewType hindexed_block(MPI_Count count, MPI_Count length, const MPI_Count* places,
                         Datatype& old) const;
  NewType structure(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                    Datatype* const* types) const;
  NewType resized(Datatype& old, MPI_Count lb, MPI_Count extent) const;
  NewType subarray(int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                   const MPI_Count* starts, int order, Datatype& old) const;
  struct Distribution {
    int size, rank, dims;
    const MPI_Count* sizes;
    const int* kinds;
    const int* arguments;  // block lengths, or MPI_DISTRIBUTE_DFLT_DARG
    const int* grid;
    int order;
  };
  NewType darray(const Distribution& array, Datatype& old) const;
  /// The Fortran type is unnamed and equal to `named`.
  static NewType parameterised(int combiner, int precision, int range, Datatype& named);
  NewType dup(Datatype& old) const;
  static NewType copy(const Datatype& old);

  /// `index_place` is the offset of a pair's second member, or 0.
  static Datatype* predefined(const char* name, MPI_Count size, Number number, int alignment,
                              MPI_Aint index_place);

 private:
  struct List;
  NewType listed(Recipe recipe, const List& list, Datatype& old) const;
  static Extremes extremes(const Datatype& type) noexcept;
  static Extremes repeated(const Datatype& old, MPI_Count count, MPI_Count stride);
  static NewType of_one(Recipe recipe, PlacedLayout layout, const Extremes& bounds, Datatype& old);
  static void settle(Datatype& type, Recipe recipe, PlacedLayout layout, const Extremes& bounds);

  bool large_;
};

}  // namespace tern::core
