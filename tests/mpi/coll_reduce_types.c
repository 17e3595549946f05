// SPDX-License-Identifier: Apache-2.0
// Every predefined datatype and operation in every reducing collective. The reference is
// MPI_Reduce_local (tests/unit/core/op_test.cc). Small integers make floating sums independent of
// the order.
// ranks: 1 2 3 5 8
// timeout: 180
#include <complex.h>
#include <stdint.h>

#include "check.h"

enum { kMost = 3000, kMostRanks = 16 };

enum Kind { kInteger, kFloat, kComplex, kLogical, kPair };
struct Type {
  const char* name;
  MPI_Datatype type;
  enum Kind kind;
  int bytes;
  int extent;
};

#define T(name, kind, C) \
  { #name, name, kind, (int)sizeof(C), (int)sizeof(C) }
#define Z(name, C) \
  { #name, name, kComplex, (int)sizeof(C), 2 * (int)sizeof(C) }
#define P(name, C, I)                                        \
  {                                                          \
#name, name, kPair, (int)sizeof(C), (int)sizeof(struct { \
      C value;                                               \
      I place;                                               \
    })                                                       \
  }
static const struct Type kTypes[] = {
    T(MPI_AINT, kInteger, MPI_Aint),
    T(MPI_COUNT, kInteger, MPI_Count),
    T(MPI_OFFSET, kInteger, MPI_Offset),
    T(MPI_SHORT, kInteger, short),
    T(MPI_INT, kInteger, int),
    T(MPI_LONG, kInteger, long),
    T(MPI_LONG_LONG, kInteger, long long),
    T(MPI_UNSIGNED_SHORT, kInteger, short),
    T(MPI_UNSIGNED, kInteger, int),
    T(MPI_UNSIGNED_LONG, kInteger, long),
    T(MPI_UNSIGNED_LONG_LONG, kInteger, long long),
    T(MPI_SIGNED_CHAR, kInteger, char),
    T(MPI_UNSIGNED_CHAR, kInteger, char),
    T(MPI_BYTE, kInteger, char),
    T(MPI_INT8_T, kInteger, int8_t),
    T(MPI_INT16_T, kInteger, int16_t),
    T(MPI_INT32_T, kInteger, int32_t),
    T(MPI_INT64_T, kInteger, int64_t),
    T(MPI_UINT8_T, kInteger, int8_t),
    T(MPI_UINT16_T, kInteger, int16_t),
    T(MPI_UINT32_T, kInteger, int32_t),
    T(MPI_UINT64_T, kInteger, int64_t),
    T(MPI_INTEGER, kInteger, int),
    T(MPI_INTEGER1, kInteger, int8_t),
    T(MPI_INTEGER2, kInteger, int16_t),
    T(MPI_INTEGER4, kInteger, int32_t),
    T(MPI_INTEGER8, kInteger, int64_t),
    T(MPI_INTEGER16, kInteger, __int128),
    T(MPI_FLOAT, kFloat, float),
    T(MPI_DOUBLE, kFloat, double),
    T(MPI_LONG_DOUBLE, kFloat, long double),
    T(MPI_REAL, kFloat, float),
    T(MPI_DOUBLE_PRECISION, kFloat, double),
    T(MPI_REAL4, kFloat, float),
    T(MPI_REAL8, kFloat, double),
    Z(MPI_C_FLOAT_COMPLEX, float),
    Z(MPI_C_DOUBLE_COMPLEX, double),
    Z(MPI_C_LONG_DOUBLE_COMPLEX, long double),
    Z(MPI_CXX_FLOAT_COMPLEX, float),
    Z(MPI_CXX_DOUBLE_COMPLEX, double),
    Z(MPI_CXX_LONG_DOUBLE_COMPLEX, long double),
    Z(MPI_COMPLEX, float),
    Z(MPI_DOUBLE_COMPLEX, double),
    Z(MPI_COMPLEX8, float),
    Z(MPI_COMPLEX16, double),
    T(MPI_C_BOOL, kLogical, _Bool),
    T(MPI_CXX_BOOL, kLogical, _Bool),
    T(MPI_LOGICAL, kLogical, int),
    T(MPI_LOGICAL1, kLogical, int8_t),
    T(MPI_LOGICAL2, kLogical, int16_t),
    T(MPI_LOGICAL4, kLogical, int32_t),
    T(MPI_LOGICAL8, kLogical, int64_t),
    T(MPI_LOGICAL16, kLogical, __int128),
    P(MPI_FLOAT_INT, float, int),
    P(MPI_DOUBLE_INT, double, int),
    P(MPI_LONG_INT, long, int),
    P(MPI_2INT, int, int),
    P(MPI_SHORT_INT, short, int),
    P(MPI_LONG_DOUBLE_INT, long double, int),
    P(MPI_2REAL, float, float),
    P(MPI_2DOUBLE_PRECISION, double, double),
    P(MPI_2INTEGER, int, int),
};
static const MPI_Op kOps[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                              MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};

// The index of two pair types has the value's type.
static int float_place(const struct Type* type) {
  return type->type == MPI_2REAL || type->type == MPI_2DOUBLE_PRECISION;
}
static int float_value(const struct Type* type) {
  return type->kind == kFloat || type->kind == kComplex || float_place(type) ||
         type->type == MPI_FLOAT_INT || type->type == MPI_DOUBLE_INT ||
         type->type == MPI_LONG_DOUBLE_INT;
}

static void write(char* at, int bytes, int floating, int number) {
  if (floating && bytes == (int)sizeof(float)) *(float*)(void*)at = (float)number;
  if (floating && bytes == (int)sizeof(double)) *(double*)(void*)at = number;
  if (floating && bytes == (int)sizeof(long double)) {
    const long double value = number;
    memcpy(at, &value, 10);
  }
  if (!floating) *at = (char)number;
}

// Most values are 1, so products stay small.
static int small(int from, long i) {
  const int x = (int)((i * 7 + from * 3) % 5);
  return x < 3 ? 1 : x - 2;
}

static void fill_with(const struct Type* type, char* data, int from, long count) {
  memset(data, 0, (size_t)(count * type->extent));
  for (long i = 0; i < count; ++i) {
    char* at = data + i * type->extent;
    const int number = type->kind == kLogical ? (int)(i + from) % 3 == 0 : small(from, i);
    write(at, type->bytes, float_value(type), number);
    if (type->kind == kComplex) write(at + type->bytes, type->bytes, 1, (int)(i + from) % 2);
    if (type->kind != kPair) continue;
    const int after = float_place(type) || type->bytes > (int)sizeof(int) ? type->bytes : 4;
    write(at + after, float_place(type) ? type->bytes : 4, float_place(type), from);
  }
}

enum { kRoom = 32 * kMostRanks * kMost };
static char *in, *out;  // tests/gpu/run replaces malloc by device memory
static char wanted[kRoom], right[kRoom];

static void refer(const struct Type* type, MPI_Op op, long count, int ranks) {
  fill_with(type, wanted, 0, count);
  for (int r = 1; r < ranks; ++r) {
    fill_with(type, right, r, count);
    OK(MPI_Reduce_local(wanted, right, (int)count, type->type, op));
    memcpy(wanted, right, (size_t)(count * type->extent));
  }
}

// Collectives need not move padding.
static int means(const struct Type* type, int byte) {
  const int of_value = byte % type->bytes;
  if (type->kind == kPair && byte >= type->bytes) {
    const int after = type->bytes > (int)sizeof(int) ? type->bytes : 4;
    return float_place(type) || (byte >= after && byte < after + 4);
  }
  return !float_value(type) || type->bytes != (int)sizeof(long double) || of_value < 10;
}
static void expect(const struct Type* type, long first, long count, const char* what, int op) {
  for (long i = 0; i < count; ++i)
    for (int b = 0; b < type->extent; ++b)
      if (means(type, b) && out[i * type->extent + b] != wanted[(first + i) * type->extent + b])
        FAIL("%s of %ld %s with operation %d of the list on %d ranks: element %ld is wrong", what,
             count, type->name, op, size, i);
}

static int turn;
#define DO(Name, name, ...)                                                      \
  do {                                                                           \
    MPI_Request request_;                                                        \
    turn = (turn + 1) % 3;                                                       \
    if (turn == 0) {                                                             \
      OK(MPI_##Name(__VA_ARGS__));                                               \
      break;                                                                     \
    }                                                                            \
    if (turn == 1) OK(MPI_I##name(__VA_ARGS__, &request_));                      \
    if (turn == 2) OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
    if (turn == 2) OK(MPI_Start(&request_));                                     \
    OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                                  \
    if (turn == 2) OK(MPI_Request_free(&request_));                              \
  } while (0)

static const void* input(const struct Type* type, int in_place, long count) {
  fill_with(type, in_place ? out : in, rank, count);
  return in_place ? MPI_IN_PLACE : in;
}

static void vectors(const struct Type* type, int which, int n, int root, int in_place) {
  const MPI_Op op = kOps[which];
  const MPI_Comm w = MPI_COMM_WORLD;
  refer(type, op, n, size);
  const void* from = input(type, in_place && rank == root, n);
  DO(Reduce, reduce, from, out, n, type->type, op, root, w);
  if (rank == root) expect(type, 0, n, "reduce", which);
  from = input(type, in_place, n);
  DO(Allreduce, allreduce, from, out, n, type->type, op, w);
  expect(type, 0, n, "allreduce", which);

  refer(type, op, n, rank + 1);
  from = input(type, in_place, n);
  DO(Scan, scan, from, out, n, type->type, op, w);
  expect(type, 0, n, "scan", which);
  refer(type, op, n, rank);
  from = input(type, in_place, n);
  DO(Exscan, exscan, from, out, n, type->type, op, w);
  if (rank > 0) expect(type, 0, n, "exscan", which);
}

static void scattered(const struct Type* type, int which, int n, int in_place) {
  const MPI_Op op = kOps[which];
  int counts[kMostRanks], before = 0, sum = 0;
  refer(type, op, (long)n * size, size);
  const void* from = input(type, in_place, (long)n * size);
  DO(Reduce_scatter_block, reduce_scatter_block, from, out, n, type->type, op, MPI_COMM_WORLD);
  expect(type, (long)n * rank, n, "reduce_scatter_block", which);
  for (int r = 0; r < size; ++r) {
    counts[r] = n * (r % 2) + r % 3;
    if (r < rank) before += counts[r];
    sum += counts[r];
  }
  from = input(type, in_place, sum);
  DO(Reduce_scatter, reduce_scatter, from, out, counts, type->type, op, MPI_COMM_WORLD);
  expect(type, before, counts[rank], "reduce_scatter", which);
}

// MPI-5.0 sections 6.9.2 and 6.9.4 give the number of operations for this type.
static int operations_of(const struct Type* type) {
  switch (type->kind) {
    case kInteger:
      return type->type == MPI_BYTE ? 3 : 10;
    case kFloat:
      return 4;
    case kComplex:
      return 2;
    case kLogical:
      return 3;
    default:
      return 2;
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  in = malloc(kRoom);
  out = malloc(kRoom);
  CHECK(size <= kMostRanks);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  for (size_t t = 0; t < sizeof kTypes / sizeof kTypes[0]; ++t) {
    const struct Type* type = &kTypes[t];
    int taken = 0;
    for (int o = 0; o < (int)(sizeof kOps / sizeof kOps[0]); ++o) {
      if (MPI_Reduce_local(in, out, 0, type->type, kOps[o]) != MPI_SUCCESS) continue;
      const int large = (int)t % operations_of(type) == taken, in_place = ((int)t + o) % 2;
      ++taken;
      vectors(type, o, 1, o % size, in_place);
      vectors(type, o, 7, (o + 1) % size, !in_place);
      scattered(type, o, 5, in_place);
      if (!large) continue;
      vectors(type, o, kMost, (int)t % size, in_place);
      scattered(type, o, kMost / 2, !in_place);
    }
    if (taken < operations_of(type))
      FAIL("%s is taken by %d operations, expected %d", type->name, taken, operations_of(type));
  }
  free(in);
  free(out);
  return end();
}
