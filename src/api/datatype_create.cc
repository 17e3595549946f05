// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 section 5.1: the constructors of derived datatypes.
// A body ending in _c is the same call with large counts: what it makes shows them in its contents.
#include "api/bodies.hpp"
#include "api/datatype.hpp"

namespace tern::api {
namespace {

using core::Datatype;
using core::TypeBuilder;

void check_lengths(MPI_Count count, const MPI_Count* lengths) {
  for (MPI_Count i = 0; i < count; ++i)
    if (lengths[i] < 0)
      throw Error(MPI_ERR_ARG, strf("array_of_blocklengths[%lld] is %lld; lengths are 0 or more",
                                    static_cast<long long>(i), static_cast<long long>(lengths[i])));
}

int make_struct(bool large, MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                const MPI_Datatype* types, MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] {
    check_lengths(count, lengths);
    std::vector<Datatype*> parts(static_cast<size_t>(count));
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = find_type(types[i]);
      if (parts[i] != nullptr) continue;
      throw Error(MPI_ERR_TYPE,
                  strf("array_of_types[%zu] is %s", i,
                       types[i] == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
                                                     : "no datatype (was it freed?)"));
    }
    return TypeBuilder(large).structure(count, lengths, places, parts.data());
  });
}

void check_subarray(int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                    const MPI_Count* starts, int order) {
  if (dims < 1) throw Error(MPI_ERR_ARG, strf("ndims is %d; an array has 1 or more", dims));
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    throw Error(MPI_ERR_ARG, strf("order is %d; it is MPI_ORDER_C or MPI_ORDER_FORTRAN", order));
  for (int i = 0; i < dims; ++i)
    if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i] || starts[i] < 0 ||
        starts[i] > sizes[i] - subsizes[i])
      throw Error(MPI_ERR_ARG,
                  strf("dimension %d has size %lld, subsize %lld and start %lld; the subarray must "
                       "have 1 or more elements and lie within the array",
                       i, static_cast<long long>(sizes[i]), static_cast<long long>(subsizes[i]),
                       static_cast<long long>(starts[i])));
}

int make_subarray(bool large, int dims, const MPI_Count* sizes, const MPI_Count* subsizes,
                  const MPI_Count* starts, int order, Datatype& old,
                  MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] {
    check_subarray(dims, sizes, subsizes, starts, order);
    return TypeBuilder(large).subarray(dims, sizes, subsizes, starts, order, old);
  });
}

}  // namespace

int type_contiguous(MPI_Count count, Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] { return TypeBuilder().contiguous(count, oldtype); });
}

int type_vector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& oldtype,
                MPI_Datatype* newtype) noexcept {
  return create_type(newtype,
                     [&] { return TypeBuilder().vector(count, blocklength, stride, oldtype); });
}

int type_create_hvector(MPI_Count count, MPI_Count blocklength, MPI_Count stride, Datatype& oldtype,
                        MPI_Datatype* newtype) noexcept {
  return create_type(newtype,
                     [&] { return TypeBuilder().hvector(count, blocklength, stride, oldtype); });
}

int type_indexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                 Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] {
    check_lengths(count, lengths);
    return TypeBuilder().indexed(count, lengths, places, oldtype);
  });
}

int type_create_hindexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                         Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] {
    check_lengths(count, lengths);
    return TypeBuilder().hindexed(count, lengths, places, oldtype);
  });
}

int type_create_indexed_block(MPI_Count count, MPI_Count blocklength, const MPI_Count* places,
                              Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  return create_type(
      newtype, [&] { return TypeBuilder().indexed_block(count, blocklength, places, oldtype); });
}

int type_create_hindexed_block(MPI_Count count, MPI_Count blocklength, const MPI_Count* places,
                               Datatype& oldtype, MPI_Datatype* newtype) noexcept {
  return create_type(
      newtype, [&] { return TypeBuilder().hindexed_block(count, blocklength, places, oldtype); });
}

int type_create_struct(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                       const MPI_Datatype* types, MPI_Datatype* newtype) noexcept {
  return make_struct(false, count, lengths, places, types, newtype);
}

int type_create_resized(Datatype& oldtype, MPI_Count lb, MPI_Count extent,
                        MPI_Datatype* newtype) noexcept {
  return create_type(newtype, [&] { return TypeBuilder().resized(oldtype, lb, extent); });
}

int type_create_subarray(int ndims, const MPI_Count* sizes, const MPI_Count* subsizes,
                         const MPI_Count* starts, int order, Datatype& oldtype,
                         MPI_Datatype* newtype) noexcept {
  return make_subarray(false, ndims, sizes, subsizes, starts, order, oldtype, newtype);
}

}  // namespace tern::api
