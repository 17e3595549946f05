// SPDX-License-Identifier: Apache-2.0
// The 16-bit types of mpix.h. Small integers give equal bits in every order.
// ranks: 1 2 3 4
#include <mpix.h>
#include <stdint.h>

#include "check.h"

enum { kCount = 1001 };

static uint16_t half_of(int value) {
  if (value == 0) return 0;
  const unsigned sign = value < 0 ? 0x8000U : 0;
  unsigned magnitude = (unsigned)(value < 0 ? -value : value), exponent = 25;
  for (; magnitude < 1024; magnitude *= 2) --exponent;
  return (uint16_t)(sign | (exponent << 10) | (magnitude & 1023U));
}

static uint16_t bfloat_of(int value) {
  const float wide = (float)value;
  uint32_t bits;
  memcpy(&bits, &wide, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static int operand(int who, int i) { return (who * 5 + i) % 4 - 1; }

static int expected(MPI_Op op, int i) {
  int result = operand(0, i);
  for (int who = 1; who < size; ++who) {
    const int next = operand(who, i);
    if (op == MPI_SUM) result += next;
    if (op == MPI_PROD) result *= next;
    if (op == MPI_MIN && next < result) result = next;
    if (op == MPI_MAX && next > result) result = next;
  }
  return result;
}

static void check_reductions(MPI_Datatype type, uint16_t (*of)(int)) {
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  uint16_t in[kCount], out[kCount];
  for (int i = 0; i < kCount; ++i) in[i] = of(operand(rank, i));
  for (int o = 0; o < 4; ++o) {
    for (int count = 1; count <= kCount; count += 250) {
      memset(out, 0x5a, sizeof out);
      MPI_Allreduce(in, out, count, type, ops[o], MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) {
        const int wanted = expected(ops[o], i);
        // Zero times a negative number is negative zero.
        if (wanted == 0 ? (out[i] & 0x7fffU) != 0 : out[i] != of(wanted))
          FAIL("op %d, element %d of %d is %#x, not %#x", o, i, count, out[i], of(wanted));
      }
      MPI_Request request;
      memcpy(out, in, sizeof out);
      MPI_Iallreduce(MPI_IN_PLACE, out, count, type, ops[o], MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      const int last = expected(ops[o], count - 1);
      CHECK(last == 0 || out[count - 1] == of(last));
    }
  }
}

static void check_type(MPI_Datatype type, const char* name) {
  int bytes, length;
  MPI_Aint lb, extent;
  char text[MPI_MAX_OBJECT_NAME];
  MPI_Type_size(type, &bytes);
  MPI_Type_get_extent(type, &lb, &extent);
  MPI_Type_get_name(type, text, &length);
  CHECK(bytes == 2 && lb == 0 && extent == 2 && strcmp(text, name) == 0);
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type);
  MPI_Errhandler kept;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &kept);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  uint16_t in = 0, out = 0;
  int class = MPI_SUCCESS;
  MPI_Error_class(MPI_Allreduce(&in, &out, 1, type, MPI_BAND, MPI_COMM_WORLD), &class);
  CHECK(class == MPI_ERR_OP);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, kept);
}

static void check_column(MPI_Datatype type) {
  uint16_t sent[40], got[40];
  MPI_Datatype column;
  MPI_Type_vector(10, 1, 4, type, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 40; ++i) sent[i] = (uint16_t)(i + 100 * rank), got[i] = 7;
  MPI_Sendrecv(sent, 1, column, (rank + 1) % size, 1, got, 10, type, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; ++i) CHECK(got[i] == 4 * i + 100 * ((rank + size - 1) % size));
  CHECK(got[10] == 7);
  MPI_Type_free(&column);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_type(MPIX_C_FLOAT16, "MPIX_C_FLOAT16");
  check_type(MPIX_BFLOAT16, "MPIX_BFLOAT16");
  check_reductions(MPIX_FLOAT16, half_of);
  check_reductions(MPIX_C_BF16, bfloat_of);
  check_column(MPIX_BFLOAT16);
  MPI_Finalize();
  return 0;
}
