// SPDX-License-Identifier: Apache-2.0
// Every reduction operation on every C type against a serial reference, with every root, in place
// and not.
// ranks: 1 2 3 4 5 8
// timeout: 180
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include "check.h"

enum { kMost = 5000 };
static const int kCounts[] = {0, 1, 3, 64, kMost};

typedef void (*Reference)(void* sum, const void* next, size_t count);
struct Type {
  const char* name;
  MPI_Datatype type;
  size_t size;
  void (*fill)(void* data, int from, size_t count);
  Reference ops[10];  // indexed as kOps; NULL: invalid for the type
};
static const struct {
  const char* name;
  MPI_Op op;
} kOps[10] = {{"sum", MPI_SUM},   {"prod", MPI_PROD}, {"min", MPI_MIN},   {"max", MPI_MAX},
              {"land", MPI_LAND}, {"lor", MPI_LOR},   {"lxor", MPI_LXOR}, {"band", MPI_BAND},
              {"bor", MPI_BOR},   {"bxor", MPI_BXOR}};

// Small integers, mostly 1, keep floating sums and products exact.
static int small(int from, size_t i) {
  const int x = (int)((i * 7 + (size_t)from * 3) % 5);
  return x < 3 ? 1 : x - 2;
}

#define LOOP(tag, op, C, expression)                                  \
  static void op##_##tag(void* sum, const void* next, size_t count) { \
    for (size_t i = 0; i < count; ++i) {                              \
      const C a = ((const C*)sum)[i], b = ((const C*)next)[i];        \
      ((C*)sum)[i] = (C)(expression);                                 \
    }                                                                 \
  }
#define FILL(tag, C)                                                      \
  static void fill_##tag(void* data, int from, size_t count) {            \
    for (size_t i = 0; i < count; ++i) ((C*)data)[i] = (C)small(from, i); \
  }
#define ARITHMETIC(tag, C) LOOP(tag, sum, C, a + b) LOOP(tag, prod, C, a* b)
#define ORDER(tag, C) LOOP(tag, min, C, a < b ? a : b) LOOP(tag, max, C, a > b ? a : b)
#define LOGIC(tag, C) \
  LOOP(tag, land, C, a&& b) LOOP(tag, lor, C, a || b) LOOP(tag, lxor, C, !a != !b)
#define BITS(tag, C) LOOP(tag, band, C, a& b) LOOP(tag, bor, C, a | b) LOOP(tag, bxor, C, a ^ b)
#define INTEGER(tag, C) FILL(tag, C) ARITHMETIC(tag, C) ORDER(tag, C) LOGIC(tag, C) BITS(tag, C)
#define FLOATING(tag, C) FILL(tag, C) ARITHMETIC(tag, C) ORDER(tag, C)
#define COMPLEX(tag, C) FILL(tag, C) ARITHMETIC(tag, C)

INTEGER(sc, signed char)
INTEGER(uc, unsigned char)
INTEGER(sh, short)
INTEGER(us, unsigned short)
INTEGER(in, int)
INTEGER(un, unsigned)
INTEGER(lo, long)
INTEGER(ul, unsigned long)
INTEGER(ll, long long)
INTEGER(ull, unsigned long long)
FLOATING(fl, float)
FLOATING(db, double)
FLOATING(ld, long double)
COMPLEX(fc, float complex)
COMPLEX(dc, double complex)
static void fill_bo(void* data, int from, size_t count) {
  for (size_t i = 0; i < count; ++i) ((_Bool*)data)[i] = (i + (size_t)from) % 3 == 0;
}
LOGIC(bo, _Bool)
static void fill_by(void* data, int from, size_t count) { fill(data, count, (unsigned)from); }
BITS(by, unsigned char)

#define ALL(t) \
  { sum_##t, prod_##t, min_##t, max_##t, land_##t, lor_##t, lxor_##t, band_##t, bor_##t, bxor_##t }
#define N(name, t, C) \
  { #name, name, sizeof(C), fill_##t, ALL(t) }
#define F(name, t, C)                                                         \
  {                                                                           \
#name, name, sizeof(C), fill_##t, { sum_##t, prod_##t, min_##t, max_##t } \
  }
#define Z(name, t, C)                                       \
  {                                                         \
#name, name, sizeof(C), fill_##t, { sum_##t, prod_##t } \
  }

static const struct Type kTypes[] = {
    N(MPI_SIGNED_CHAR, sc, signed char),
    N(MPI_UNSIGNED_CHAR, uc, unsigned char),
    N(MPI_SHORT, sh, short),
    N(MPI_UNSIGNED_SHORT, us, unsigned short),
    N(MPI_INT, in, int),
    N(MPI_UNSIGNED, un, unsigned),
    N(MPI_LONG, lo, long),
    N(MPI_UNSIGNED_LONG, ul, unsigned long),
    N(MPI_LONG_LONG, ll, long long),
    N(MPI_UNSIGNED_LONG_LONG, ull, unsigned long long),
    N(MPI_INT8_T, sc, int8_t),
    N(MPI_UINT8_T, uc, uint8_t),
    N(MPI_INT16_T, sh, int16_t),
    N(MPI_UINT16_T, us, uint16_t),
    N(MPI_INT32_T, in, int32_t),
    N(MPI_UINT32_T, un, uint32_t),
    N(MPI_INT64_T, lo, int64_t),
    N(MPI_UINT64_T, ul, uint64_t),
    N(MPI_AINT, lo, MPI_Aint),
    N(MPI_COUNT, ll, MPI_Count),
    N(MPI_OFFSET, ll, MPI_Offset),
    F(MPI_FLOAT, fl, float),
    F(MPI_DOUBLE, db, double),
    F(MPI_LONG_DOUBLE, ld, long double),
    Z(MPI_C_FLOAT_COMPLEX, fc, float complex),
    Z(MPI_C_DOUBLE_COMPLEX, dc, double complex),
    {"MPI_C_BOOL",
     MPI_C_BOOL,
     sizeof(_Bool),
     fill_bo,
     {NULL, NULL, NULL, NULL, land_bo, lor_bo, lxor_bo}},
    {"MPI_BYTE",
     MPI_BYTE,
     1,
     fill_by,
     {NULL, NULL, NULL, NULL, NULL, NULL, NULL, band_by, bor_by, bxor_by}},
};

enum { kRoom = 16 * 8 * kMost };
static unsigned char *in, *out;  // tests/gpu/run replaces malloc by device memory
static unsigned char wanted[kRoom], next[kRoom];
static int nonblocking;
static const struct Type* type;
static int which;

static void refer(size_t count, int end) {
  type->fill(wanted, 0, count);
  for (int r = 1; r < end; ++r) {
    type->fill(next, r, count);
    type->ops[which](wanted, next, count);
  }
}

// The padding of long double is undefined.
static int same(const void* a, const void* b, size_t count) {
  if (type->type != MPI_LONG_DOUBLE) return memcmp(a, b, count * type->size) == 0;
  for (size_t i = 0; i < count; ++i)
    if (((const long double*)a)[i] != ((const long double*)b)[i]) return 0;
  return 1;
}

static void expect(const void* found, size_t first, size_t count, const char* what) {
  if (!same(found, wanted + first * type->size, count))
    FAIL("%s of %zu %s with %s on %d ranks is wrong", what, count, type->name, kOps[which].name,
         size);
}

#define DO(Name, name, ...)                      \
  do {                                           \
    MPI_Request pending;                         \
    if (nonblocking) {                           \
      OK(MPI_I##name(__VA_ARGS__, &pending));    \
      OK(MPI_Wait(&pending, MPI_STATUS_IGNORE)); \
    } else {                                     \
      OK(MPI_##Name(__VA_ARGS__));               \
    }                                            \
  } while (0)

static const void* input(int in_place, size_t count) {
  type->fill(in_place ? out : in, rank, count);
  return in_place ? MPI_IN_PLACE : in;
}

static void vectors(int n, int in_place) {
  const MPI_Op op = kOps[which].op;
  const size_t count = (size_t)n;
  refer(count, size);
  for (int root = 0; root < size; ++root) {
    const void* from = input(in_place && rank == root, count);
    DO(Reduce, reduce, from, out, n, type->type, op, root, MPI_COMM_WORLD);
    if (rank == root) expect(out, 0, count, "reduce");
  }
  const void* from = input(in_place, count);
  DO(Allreduce, allreduce, from, out, n, type->type, op, MPI_COMM_WORLD);
  expect(out, 0, count, "allreduce");

  refer(count, rank + 1);
  from = input(in_place, count);
  DO(Scan, scan, from, out, n, type->type, op, MPI_COMM_WORLD);
  expect(out, 0, count, "scan");

  refer(count, rank);
  from = input(in_place, count);
  DO(Exscan, exscan, from, out, n, type->type, op, MPI_COMM_WORLD);
  if (rank > 0) expect(out, 0, count, "exscan");
}

static void scattered(int n, int in_place) {
  const MPI_Op op = kOps[which].op;
  const size_t total = (size_t)n * (size_t)size;
  refer(total, size);
  const void* from = input(in_place, total);
  DO(Reduce_scatter_block, reduce_scatter_block, from, out, n, type->type, op, MPI_COMM_WORLD);
  expect(out, (size_t)(n * rank), (size_t)n, "reduce_scatter_block");

  int counts[64], before = 0, sum = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (n + r) % 7;
    if (r < rank) before += counts[r];
    sum += counts[r];
  }
  refer((size_t)sum, size);
  from = input(in_place, (size_t)sum);
  DO(Reduce_scatter, reduce_scatter, from, out, counts, type->type, op, MPI_COMM_WORLD);
  expect(out, (size_t)before, (size_t)counts[rank], "reduce_scatter");
}

// MINLOC and MAXLOC take the lowest index of equal values.
struct Pair {
  double value;
  int place;
};
static void places(void) {
  struct Pair mine[3], least[3], greatest[3];
  for (int i = 0; i < 3; ++i) mine[i] = (struct Pair){(rank + i) % 3, rank};
  OK(MPI_Allreduce(mine, least, 3, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
  OK(MPI_Allreduce(mine, greatest, 3, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    struct Pair low = {99, 0}, high = {-1, 0};
    for (int r = 0; r < size; ++r) {
      const double v = (r + i) % 3;
      if (v < low.value) low = (struct Pair){v, r};
      if (v > high.value) high = (struct Pair){v, r};
    }
    CHECK(least[i].value == low.value && least[i].place == low.place);
    CHECK(greatest[i].value == high.value && greatest[i].place == high.place);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  in = malloc(kRoom);
  out = malloc(kRoom);
  for (size_t t = 0; t < sizeof kTypes / sizeof kTypes[0]; ++t)
    for (which = 0; which < 10; ++which) {
      type = &kTypes[t];
      if (type->ops[which] == NULL) continue;
      for (size_t c = 0; c < sizeof kCounts / sizeof kCounts[0]; ++c) {
        // Thresholds do not depend on the type, so few types use the largest count.
        if (kCounts[c] == kMost && (size_t)which != t % 10) continue;
        nonblocking = (which + (int)c) % 2;
        for (int in_place = 0; in_place < 2; ++in_place) {
          vectors(kCounts[c], in_place);
          scattered(kCounts[c], in_place);
        }
      }
    }
  places();
  free(in);
  free(out);
  return end();
}
