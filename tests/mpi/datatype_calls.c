// SPDX-License-Identifier: Apache-2.0
// Sizes of all constants, envelopes and contents, names, counts, packing, wrong calls.
// ranks: singleton 1
#include <stdint.h>
#include "check.h"

static void sizes_of_all_constants(void) {
  for (int i = 513; i < 1024; ++i) {
    MPI_Datatype type = MPI_Type_fromint(i);
    char name[MPI_MAX_OBJECT_NAME];
    int size = 0, length = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Type_get_name(type, name, &length) != MPI_SUCCESS) continue;
    OK(MPI_Type_size(type, &size));
    CHECK(size > 0 || size == MPI_UNDEFINED);
    CHECK(strncmp(name, "MPI_", 4) == 0 || strcmp(name, "MPIX_C_FLOAT16") == 0 ||
          strcmp(name, "MPIX_BFLOAT16") == 0);
    CHECK_EQ(strlen(name), length);
  }
  int size;
  OK(MPI_Type_size(MPI_LONG_DOUBLE_INT, &size));
  CHECK_EQ(size, sizeof(long double) + sizeof(int));
}

static void contents_of_the_small_form(void) {
  MPI_Datatype vector, hvector, again[1];
  OK(MPI_Type_vector(3, 2, 5, MPI_INT, &vector));
  OK(MPI_Type_create_hvector(4, 1, 100, vector, &hvector));
  int ints, addresses, types, combiner, integers[3];
  MPI_Aint places[1];
  OK(MPI_Type_get_envelope(vector, &ints, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
  CHECK_EQ(ints, 3);
  CHECK_EQ(addresses, 0);
  OK(MPI_Type_get_contents(vector, 3, 0, 1, integers, places, again));
  CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == 5 && again[0] == MPI_INT);
  OK(MPI_Type_free(&vector));
  OK(MPI_Type_get_contents(hvector, 3, 1, 1, integers, places, again));
  CHECK(integers[0] == 4 && integers[1] == 1 && places[0] == 100);
  OK(MPI_Type_get_envelope(again[0], &ints, &addresses, &types, &combiner));
  CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
  OK(MPI_Type_free(&again[0]));
  FAILS(MPI_Type_get_contents(hvector, 1, 1, 1, integers, places, again), MPI_ERR_ARG);
  FAILS(MPI_Type_get_contents(MPI_INT, 0, 0, 0, integers, places, again), MPI_ERR_TYPE);
  OK(MPI_Type_free(&hvector));
}

static void contents_of_the_large_form(void) {
  MPI_Datatype type, again[1];
  MPI_Count ints, addresses, larges, types, counts[3];
  int combiner, integers[3];
  MPI_Aint places[1];
  OK(MPI_Type_create_hvector_c(4, 2, 100, MPI_DOUBLE, &type));
  OK(MPI_Type_get_envelope_c(type, &ints, &addresses, &larges, &types, &combiner));
  CHECK(ints == 0 && addresses == 0 && larges == 3 && types == 1);
  OK(MPI_Type_get_contents_c(type, 0, 0, 3, 1, integers, places, counts, again));
  CHECK(counts[0] == 4 && counts[1] == 2 && counts[2] == 100 && again[0] == MPI_DOUBLE);
  FAILS(MPI_Type_get_contents(type, 3, 1, 1, integers, places, again), MPI_ERR_ARG);
  OK(MPI_Type_free(&type));
}

static void counts_beyond_an_int(void) {
  MPI_Datatype big;
  int size;
  MPI_Count count, lb, extent;
  MPI_Status status;
  OK(MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &big));
  OK(MPI_Type_size(big, &size));
  CHECK_EQ(size, MPI_UNDEFINED);
  OK(MPI_Type_size_x(big, &count));
  CHECK_EQ(count, (MPI_Count)1 << 35);
  OK(MPI_Type_get_extent_c(big, &lb, &extent));
  CHECK_EQ(extent, (MPI_Count)1 << 35);
  OK(MPI_Status_set_elements_x(&status, big, (MPI_Count)1 << 33));
  OK(MPI_Get_count(&status, big, &size));
  CHECK_EQ(size, 1);
  OK(MPI_Get_elements(&status, big, &size));
  CHECK_EQ(size, MPI_UNDEFINED);
  OK(MPI_Get_elements_x(&status, big, &count));
  CHECK_EQ(count, (MPI_Count)1 << 33);
  OK(MPI_Type_free(&big));
}

static void names_and_handles(void) {
  MPI_Datatype type, copy, stale;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Type_contiguous(2, MPI_FLOAT, &type));
  OK(MPI_Type_get_name(type, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Type_set_name(type, "two floats"));
  OK(MPI_Type_dup(type, &copy));
  OK(MPI_Type_get_name(type, name, &length));
  CHECK(strcmp(name, "two floats") == 0);
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
  CHECK_EQ(length, 17);
  stale = type;
  OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  FAILS(MPI_Type_size(stale, &length), MPI_ERR_TYPE);
  OK(MPI_Type_size(copy, &length));
  CHECK_EQ(length, 8);
  OK(MPI_Type_free(&copy));
  type = MPI_INT;
  FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
  FAILS(MPI_Type_commit(&stale), MPI_ERR_TYPE);
}

static void packing(void) {
  double matrix[6][8], column[6];
  MPI_Datatype type;
  char buffer[64];
  int position = 0, size;
  for (int i = 0; i < 48; ++i) matrix[i / 8][i % 8] = i;
  OK(MPI_Type_vector(6, 1, 8, MPI_DOUBLE, &type));
  FAILS(MPI_Pack(matrix, 1, type, buffer, 64, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
  OK(MPI_Type_commit(&type));
  OK(MPI_Pack_size(1, type, MPI_COMM_SELF, &size));
  CHECK_EQ(size, 48);
  OK(MPI_Pack(&matrix[0][3], 1, type, buffer, 64, &position, MPI_COMM_SELF));
  CHECK_EQ(position, 48);
  FAILS(MPI_Pack(matrix, 1, type, buffer, 64, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
  position = 0;
  OK(MPI_Unpack(buffer, 64, &position, column, 6, MPI_DOUBLE, MPI_COMM_SELF));
  for (int i = 0; i < 6; ++i) CHECK(column[i] == 8 * i + 3);
  OK(MPI_Type_free(&type));
}

static void packing_for_other_machines(void) {
  const long numbers[4] = {1, 2, -3, 4};
  long back[4] = {0, 0, 0, 0};
  const unsigned char expected[8] = {0, 0, 0, 1, 255, 255, 255, 253};
  MPI_Datatype type;
  unsigned char buffer[16];
  MPI_Aint position = 0, size;
  MPI_Count large_position = 0, large_size;
  OK(MPI_Type_vector(2, 1, 2, MPI_LONG, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Pack_external_size("external32", 3, type, &size));
  CHECK_EQ(size, 24);
  OK(MPI_Pack_external("external32", numbers, 1, type, buffer, 16, &position));
  CHECK_EQ(position, 8);
  CHECK(memcmp(buffer, expected, 8) == 0);
  OK(MPI_Pack_external("external32", numbers, 1, type, buffer, 16, &position));
  FAILS(MPI_Pack_external("external32", numbers, 1, type, buffer, 16, &position), MPI_ERR_TRUNCATE);
  FAILS(MPI_Pack_external("external64", numbers, 1, type, buffer, 16, &position), MPI_ERR_ARG);
  position = 8;
  OK(MPI_Unpack_external("external32", buffer, 16, &position, back, 1, type));
  CHECK_EQ(position, 16);
  CHECK(back[0] == 1 && back[1] == 0 && back[2] == -3 && back[3] == 0);
  OK(MPI_Pack_external_size_c("external32", 1, type, &large_size));
  CHECK_EQ(large_size, 8);
  OK(MPI_Pack_external_c("external32", numbers, 1, type, buffer, 16, &large_position));
  CHECK_EQ(large_position, 8);
  large_position = 0;
  OK(MPI_Unpack_external_c("external32", buffer, 16, &large_position, back, 2, MPI_LONG));
  CHECK(back[0] == 1 && back[1] == -3);
  OK(MPI_Type_free(&type));
}

static void types_of_fortran_and_by_size(void) {
  MPI_Datatype one, two, pair;
  int size, ints, addresses, types, combiner, integers[2];
  OK(MPI_Type_create_f90_real(12, 100, &one));
  OK(MPI_Type_create_f90_real(12, 100, &two));
  CHECK(one == two);
  OK(MPI_Type_size(one, &size));
  CHECK_EQ(size, 8);
  OK(MPI_Type_get_envelope(one, &ints, &addresses, &types, &combiner));
  CHECK(combiner == MPI_COMBINER_F90_REAL && ints == 2 && types == 0);
  OK(MPI_Type_get_contents(one, 2, 0, 0, integers, NULL, NULL));
  CHECK(integers[0] == 12 && integers[1] == 100);
  FAILS(MPI_Type_free(&one), MPI_ERR_TYPE);
  OK(MPI_Type_create_f90_integer(9, &one));
  OK(MPI_Type_create_f90_integer(9, &two));
  CHECK(one == two);
  OK(MPI_Type_get_envelope(one, &ints, &addresses, &types, &combiner));
  CHECK(combiner == MPI_COMBINER_F90_INTEGER && ints == 1 && addresses == 0 && types == 0);
  OK(MPI_Type_get_contents(one, 1, 0, 0, integers, NULL, NULL));
  CHECK_EQ(integers[0], 9);
  FAILS(MPI_Type_create_f90_integer(39, &one), MPI_ERR_ARG);
  FAILS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &one), MPI_ERR_ARG);
  OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &one));
  OK(MPI_Type_get_envelope(one, &ints, &addresses, &types, &combiner));
  CHECK(combiner == MPI_COMBINER_F90_COMPLEX && ints == 2);
  OK(MPI_Type_get_contents(one, 2, 0, 0, integers, NULL, NULL));
  CHECK(integers[0] == 6 && integers[1] == MPI_UNDEFINED);
  OK(MPI_Type_size(one, &size));
  CHECK_EQ(size, 8);
  OK(MPI_Type_create_f90_real(12, 100, &two));
  double a = 2, b = 3;
  OK(MPI_Reduce_local(&a, &b, 1, two, MPI_PROD));
  CHECK(b == 6);
  OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &two));
  CHECK(two == MPI_COMPLEX16);
  FAILS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &two), MPI_ERR_ARG);
  OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
  CHECK(pair == MPI_DOUBLE_INT);
  OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
  CHECK(pair == MPI_2INT);
  OK(MPI_Type_get_value_index(MPI_LONG_DOUBLE, MPI_INT, &pair));
  CHECK(pair == MPI_LONG_DOUBLE_INT);
  OK(MPI_Type_get_value_index(MPI_BYTE, MPI_BYTE, &pair));
  CHECK(pair == MPI_DATATYPE_NULL);
}

static void wrong_arguments(void) {
  MPI_Datatype type;
  int one[] = {1}, minus[] = {-1}, zero[] = {0}, four[] = {4};
  MPI_Datatype null[] = {MPI_DATATYPE_NULL};
  MPI_Aint place[] = {0};
  FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
  FAILS(MPI_Type_indexed(1, minus, zero, MPI_INT, &type), MPI_ERR_ARG);
  FAILS(MPI_Type_create_struct(1, one, place, null, &type), MPI_ERR_TYPE);
  FAILS(MPI_Type_create_subarray(1, one, four, zero, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  FAILS(MPI_Type_create_subarray(1, four, one, zero, 4711, MPI_INT, &type), MPI_ERR_ARG);
}

static void twice(void* in, void* inout, int* length, MPI_Datatype* type) {
  int size;
  OK(MPI_Type_size(*type, &size));
  CHECK_EQ(size, 4);
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += 2 * ((int*)in)[i];
}

static void operations(void) {
  MPI_Op op, sum = MPI_SUM;
  int in[] = {1, 2}, inout[] = {3, 4}, commutes;
  OK(MPI_Op_create(twice, 0, &op));
  OK(MPI_Op_commutative(op, &commutes));
  CHECK_EQ(commutes, 0);
  OK(MPI_Reduce_local(in, inout, 2, MPI_INT, op));
  CHECK(inout[0] == 5 && inout[1] == 8);
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  FAILS(MPI_Op_free(&sum), MPI_ERR_OP);
  FAILS(MPI_Reduce_local(in, inout, 1, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP);
  FAILS(MPI_Reduce_local(in, inout, 1, MPI_INT, MPI_REPLACE), MPI_ERR_OP);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  sizes_of_all_constants();
  contents_of_the_small_form();
  contents_of_the_large_form();
  counts_beyond_an_int();
  names_and_handles();
  packing();
  packing_for_other_machines();
  types_of_fortran_and_by_size();
  wrong_arguments();
  operations();
  MPI_Finalize();
  return 0;
}
