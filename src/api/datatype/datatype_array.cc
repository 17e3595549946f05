// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 section 5.1: array parts, types by size, Fortran's parameterised types, pairs.
#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"

namespace tern::api {
namespace {

using core::Datatype;
using core::TypeBuilder;

void check_array(int dims, int order) {
  if (dims < 1) throw Error(MPI_ERR_ARG, strf("ndims is %d; an array has 1 or more", dims));
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    throw Error(MPI_ERR_ARG,
                strf("order is %d, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order));
}

int make_subarray(TypeBuilder build, int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                  const MPI_Count* starts, int order, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] {
    check_array(dims, order);
    for (int i = 0; i < dims; ++i)
      if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 ||
          starts[i] > sizes[i] - subsizes[i])
        throw Error(MPI_ERR_ARG,
                    strf("dimension %d has size %lld, subsize %lld and start %lld; the subarray "
                         "must have 1 or more elements and lie within the array",
                         i, static_cast<long long>(sizes[i]), static_cast<long long>(subsizes[i]),
                         static_cast<long long>(starts[i])));
    return build.subarray(dims, sizes, subsizes, starts, order, old);
  });
}

int make_darray(TypeBuilder build, const TypeBuilder::Distribution& array, Datatype& old,
                MPI_Datatype* made) {
  return create_type(made, [&] {
    check_array(array.dims, array.order);
    int64_t processes = 1;
    for (int i = 0; i < array.dims; ++i) {
      if (array.sizes[i] < 1 || array.grid[i] < 1)
        throw Error(MPI_ERR_ARG,
                    strf("dimension %d has %lld elements on %d processes; both are 1 or more", i,
                         static_cast<long long>(array.sizes[i]), array.grid[i]));
      processes *= array.grid[i];
    }
    if (processes != array.size || array.rank < 0 || array.rank >= array.size)
      throw Error(MPI_ERR_ARG, strf("rank %d of size %d does not fit a grid of %lld processes",
                                    array.rank, array.size, static_cast<long long>(processes)));
    return build.darray(array, old);
  });
}

/// Equal calls return the same type.
int give_parameterised(int combiner, int precision, int range, MPI_Datatype named,
                       MPI_Datatype* made) noexcept {
  return guarded([&] {
    core::Process& process = *the_process;
    const std::lock_guard<std::mutex> guard(process.parameterised.mutex);
    Datatype*& type = process.parameterised.all[{combiner, precision, range}];
    if (type != nullptr) {
      *made = reinterpret_cast<MPI_Datatype>(type->handle());
      return;
    }
    auto fresh = TypeBuilder::parameterised(combiner, precision, range,
                                            core::predefined_type(process, named));
    Datatype* const kept = fresh.get();
    give_type(std::move(fresh), made);
    kept->made_at = {};  // MPI's own type is no leak
    type = kept;
  });
}

struct Format {
  int precision, range;
  MPI_Datatype real, complex;
};
const Format kFormats[] = {{6, 37, MPI_REAL4, MPI_COMPLEX8},
                           {15, 307, MPI_REAL8, MPI_COMPLEX16},
                           {33, 4931, MPI_REAL16, MPI_COMPLEX32}};

const Format* format_for(int precision, int range) noexcept {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED) return nullptr;
  for (const Format& format : kFormats)
    if ((precision == MPI_UNDEFINED || precision <= format.precision) &&
        (range == MPI_UNDEFINED || range <= format.range))
      return &format;
  return nullptr;
}

int no_format(int precision, int range) noexcept {
  return fail(MPI_ERR_ARG,
              "no real type has precision %d and range %d (MPI_UNDEFINED is %d; pass MPI_UNDEFINED "
              "for at most one); the limits are 33 digits and 10^4931",
              precision, range, MPI_UNDEFINED);
}

struct Sized {
  int typeclass, size;
  MPI_Datatype type;
};
const Sized kSized[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
    {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
    {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32}};

struct Pair {
  MPI_Datatype value, index, pair;
};
const Pair kPairs[] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                       {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                       {MPI_LONG, MPI_INT, MPI_LONG_INT},
                       {MPI_INT, MPI_INT, MPI_2INT},
                       {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                       {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                       {MPI_REAL, MPI_REAL, MPI_2REAL},
                       {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
                       {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};

}  // namespace

int type_create_subarray(int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                         const MPI_Count* starts, int order, Datatype& old,
                         MPI_Datatype* made) noexcept {
  return make_subarray(TypeBuilder(), dims, sizes, subsizes, starts, order, old, made);
}
int type_create_subarray_c(int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                           const MPI_Count* starts, int order, Datatype& old,
                           MPI_Datatype* made) noexcept {
  return make_subarray(TypeBuilder(kLarge), dims, sizes, subsizes, starts, order, old, made);
}

int type_create_darray(int size, int rank, int dims, const MPI_Count* sizes, const int* distribs,
                       const int* dargs, const int* psizes, int order, Datatype& old,
                       MPI_Datatype* made) noexcept {
  return make_darray(TypeBuilder(), {size, rank, dims, sizes, distribs, dargs, psizes, order}, old,
                     made);
}
int type_create_darray_c(int size, int rank, int dims, const MPI_Count* sizes, const int* distribs,
                         const int* dargs, const int* psizes, int order, Datatype& old,
                         MPI_Datatype* made) noexcept {
  return make_darray(TypeBuilder(kLarge), {size, rank, dims, sizes, distribs, dargs, psizes, order},
                     old, made);
}

int type_create_f90_real(int p, int r, MPI_Datatype* newtype) noexcept {
  const Format* format = format_for(p, r);
  if (format == nullptr) return no_format(p, r);
  return give_parameterised(MPI_COMBINER_F90_REAL, p, r, format->real, newtype);
}
int type_create_f90_complex(int p, int r, MPI_Datatype* newtype) noexcept {
  const Format* format = format_for(p, r);
  if (format == nullptr) return no_format(p, r);
  return give_parameterised(MPI_COMBINER_F90_COMPLEX, p, r, format->complex, newtype);
}
int type_create_f90_integer(int r, MPI_Datatype* newtype) noexcept {
  const MPI_Datatype named = r <= 2    ? MPI_INTEGER1
                             : r <= 4  ? MPI_INTEGER2
                             : r <= 9  ? MPI_INTEGER4
                             : r <= 18 ? MPI_INTEGER8
                                       : MPI_INTEGER16;
  if (r > 38) return fail(MPI_ERR_ARG, "no integer type has %d decimal digits; at most 38", r);
  return give_parameterised(MPI_COMBINER_F90_INTEGER, 0, r, named, newtype);
}

int type_match_size(int typeclass, int size, MPI_Datatype* datatype) noexcept {
  for (const Sized& row : kSized)
    if (row.typeclass == typeclass && row.size == size) {
      *datatype = row.type;
      return MPI_SUCCESS;
    }
  return fail(
      MPI_ERR_ARG,
      "no type of class %d has %d bytes (MPI_TYPECLASS_INTEGER is %d, _REAL %d, _COMPLEX %d)",
      typeclass, size, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_TYPECLASS_COMPLEX);
}

int type_get_value_index(Datatype& value_type, Datatype& index_type,
                         MPI_Datatype* pair_type) noexcept {
  *pair_type = MPI_DATATYPE_NULL;
  for (const Pair& row : kPairs)
    if (value_type.handle() == reinterpret_cast<uintptr_t>(row.value) &&
        index_type.handle() == reinterpret_cast<uintptr_t>(row.index))
      *pair_type = row.pair;
  return MPI_SUCCESS;
}

}  // namespace tern::api
