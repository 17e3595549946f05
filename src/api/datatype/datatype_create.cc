// SPDX-License-Identifier: Apache-2.0
// MPI-5.0 section 5.1: the constructors of derived datatypes.
#include "api/bodies.hpp"
#include "api/datatype/datatype.hpp"

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

int make_contiguous(TypeBuilder build, MPI_Count count, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] { return build.contiguous(count, old); });
}

int make_vector(TypeBuilder build, MPI_Count count, MPI_Count length, MPI_Count stride,
                Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] { return build.vector(count, length, stride, old); });
}

int make_hvector(TypeBuilder build, MPI_Count count, MPI_Count length, MPI_Count stride,
                 Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] { return build.hvector(count, length, stride, old); });
}

int make_indexed(TypeBuilder build, MPI_Count count, const MPI_Count* lengths,
                 const MPI_Count* places, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] {
    check_lengths(count, lengths);
    return build.indexed(count, lengths, places, old);
  });
}

int make_hindexed(TypeBuilder build, MPI_Count count, const MPI_Count* lengths,
                  const MPI_Count* places, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] {
    check_lengths(count, lengths);
    return build.hindexed(count, lengths, places, old);
  });
}

int make_indexed_block(TypeBuilder build, MPI_Count count, MPI_Count length,
                       const MPI_Count* places, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] { return build.indexed_block(count, length, places, old); });
}

int make_hindexed_block(TypeBuilder build, MPI_Count count, MPI_Count length,
                        const MPI_Count* places, Datatype& old, MPI_Datatype* made) {
  return create_type(made, [&] { return build.hindexed_block(count, length, places, old); });
}

int make_struct(TypeBuilder build, MPI_Count count, const MPI_Count* lengths,
                const MPI_Count* places, const MPI_Datatype* types, MPI_Datatype* made) {
  return create_type(made, [&] {
    check_lengths(count, lengths);
    std::vector<Datatype*> parts(static_cast<size_t>(count));
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = find_type(types[i]);
      if (parts[i] != nullptr) continue;
      throw Error(MPI_ERR_TYPE, strf("array_of_types[%zu] is %s", i,
                                     types[i] == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
                                                                   : "not a datatype (or freed)"));
    }
    return build.structure(count, lengths, places, parts.data());
  });
}

int make_resized(TypeBuilder build, Datatype& old, MPI_Count lb, MPI_Count extent,
                 MPI_Datatype* made) {
  return create_type(made, [&] { return build.resized(old, lb, extent); });
}

}  // namespace

int type_contiguous(MPI_Count count, Datatype& old, MPI_Datatype* made) noexcept {
  return make_contiguous(TypeBuilder(), count, old, made);
}
int type_contiguous_c(MPI_Count count, Datatype& old, MPI_Datatype* made) noexcept {
  return make_contiguous(TypeBuilder(kLarge), count, old, made);
}

int type_vector(MPI_Count count, MPI_Count length, MPI_Count stride, Datatype& old,
                MPI_Datatype* made) noexcept {
  return make_vector(TypeBuilder(), count, length, stride, old, made);
}
int type_vector_c(MPI_Count count, MPI_Count length, MPI_Count stride, Datatype& old,
                  MPI_Datatype* made) noexcept {
  return make_vector(TypeBuilder(kLarge), count, length, stride, old, made);
}

int type_create_hvector(MPI_Count count, MPI_Count length, MPI_Count stride, Datatype& old,
                        MPI_Datatype* made) noexcept {
  return make_hvector(TypeBuilder(), count, length, stride, old, made);
}
int type_create_hvector_c(MPI_Count count, MPI_Count length, MPI_Count stride, Datatype& old,
                          MPI_Datatype* made) noexcept {
  return make_hvector(TypeBuilder(kLarge), count, length, stride, old, made);
}

int type_indexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places, Datatype& old,
                 MPI_Datatype* made) noexcept {
  return make_indexed(TypeBuilder(), count, lengths, places, old, made);
}
int type_indexed_c(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                   Datatype& old, MPI_Datatype* made) noexcept {
  return make_indexed(TypeBuilder(kLarge), count, lengths, places, old, made);
}

int type_create_hindexed(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                         Datatype& old, MPI_Datatype* made) noexcept {
  return make_hindexed(TypeBuilder(), count, lengths, places, old, made);
}
int type_create_hindexed_c(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                           Datatype& old, MPI_Datatype* made) noexcept {
  return make_hindexed(TypeBuilder(kLarge), count, lengths, places, old, made);
}

int type_create_indexed_block(MPI_Count count, MPI_Count length, const MPI_Count* places,
                              Datatype& old, MPI_Datatype* made) noexcept {
  return make_indexed_block(TypeBuilder(), count, length, places, old, made);
}
int type_create_indexed_block_c(MPI_Count count, MPI_Count length, const MPI_Count* places,
                                Datatype& old, MPI_Datatype* made) noexcept {
  return make_indexed_block(TypeBuilder(kLarge), count, length, places, old, made);
}

int type_create_hindexed_block(MPI_Count count, MPI_Count length, const MPI_Count* places,
                               Datatype& old, MPI_Datatype* made) noexcept {
  return make_hindexed_block(TypeBuilder(), count, length, places, old, made);
}
int type_create_hindexed_block_c(MPI_Count count, MPI_Count length, const MPI_Count* places,
                                 Datatype& old, MPI_Datatype* made) noexcept {
  return make_hindexed_block(TypeBuilder(kLarge), count, length, places, old, made);
}

int type_create_struct(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                       const MPI_Datatype* types, MPI_Datatype* made) noexcept {
  return make_struct(TypeBuilder(), count, lengths, places, types, made);
}
int type_create_struct_c(MPI_Count count, const MPI_Count* lengths, const MPI_Count* places,
                         const MPI_Datatype* types, MPI_Datatype* made) noexcept {
  return make_struct(TypeBuilder(kLarge), count, lengths, places, types, made);
}

int type_create_resized(Datatype& old, MPI_Count lb, MPI_Count extent,
                        MPI_Datatype* made) noexcept {
  return make_resized(TypeBuilder(), old, lb, extent, made);
}
int type_create_resized_c(Datatype& old, MPI_Count lb, MPI_Count extent,
                          MPI_Datatype* made) noexcept {
  return make_resized(TypeBuilder(kLarge), old, lb, extent, made);
}

}  // namespace tern::api
