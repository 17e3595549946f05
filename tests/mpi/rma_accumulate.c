// SPDX-License-Identifier: Apache-2.0
// Accumulates of all origins on the same elements, every operation and type, derived types, compare
// and swap, requests.
// ranks: 1 2 4 8
// variant: created
//   User memory.
//   cflags: -DOWN_MEMORY
// variant: copied
//   Windows copied by the kernel.
//   ranks: 2 4 8
//   env: TERN_TEST=rma=copied
// variant: messages
//   Windows by messages, without mappings.
//   ranks: 2 4 8
//   env: TERN_TEST=rma=messages
#include <stddef.h>

#include "check.h"

enum { kRounds = 100 };

static void counters(MPI_Win win, char* mine) {
  long one = 1, old = -1;
  short small = 1;
  double half = 0.5;
  memset(mine, 0, 64);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  long before = -1;
  for (int i = 0; i < kRounds; ++i) {
    OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
    OK(MPI_Win_flush(0, win));
    CHECK(old > before && old < (long)kRounds * size);
    before = old;
    OK(MPI_Accumulate(&small, 1, MPI_SHORT, 0, 8, 1, MPI_SHORT, MPI_SUM, win));
    OK(MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, 16, 1, MPI_DOUBLE, MPI_SUM, win));
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    long count;
    short few;
    double sum;
    memcpy(&count, mine, sizeof count);
    memcpy(&few, mine + 8, sizeof few);
    memcpy(&sum, mine + 16, sizeof sum);
    CHECK_EQ(count, (long)kRounds * size);
    CHECK_EQ(few, kRounds * size);
    CHECK(sum == 0.5 * kRounds * size);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void swaps(MPI_Win win, char* mine) {
  memset(mine, 0, 64);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int i = 0; i < kRounds; ++i) {
    int seen = 0, old = -1;
    for (;;) {
      const int next = seen + 1;
      OK(MPI_Compare_and_swap(&next, &seen, &old, MPI_INT, size - 1, 4, win));
      OK(MPI_Win_flush(size - 1, win));
      if (old == seen) break;
      seen = old;
    }
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int count;
  memcpy(&count, mine + 4, sizeof count);
  if (rank == size - 1) CHECK_EQ(count, kRounds * size);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// The vectors cross stripes and are misaligned by 4 bytes.
static void vectors(MPI_Win win, char* mine) {
  enum { kCount = 30000 };
  static double in[kCount], got[kCount];
  memset(mine, 0, kCount * sizeof(double) + 8);
  for (int i = 0; i < kCount; ++i) in[i] = i;
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 5; ++i)
    OK(MPI_Accumulate(in, kCount, MPI_DOUBLE, 0, 4, kCount, MPI_DOUBLE, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, got, kCount, MPI_DOUBLE, 0, 4, kCount,
                        MPI_DOUBLE, MPI_NO_OP, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kCount; ++i) CHECK(got[i] == 5.0 * size * i);
}

static void operations(MPI_Win win, char* mine) {
  static const struct {
    MPI_Datatype type;
    int bytes;
  } types[] = {{MPI_CHAR, 1},
               {MPI_SIGNED_CHAR, 1},
               {MPI_SHORT, 2},
               {MPI_UNSIGNED, 4},
               {MPI_INT, 4},
               {MPI_LONG, 8},
               {MPI_FLOAT, 4},
               {MPI_DOUBLE, 8},
               {MPI_LONG_DOUBLE, 16},
               {MPI_C_COMPLEX, 8},
               {MPI_C_DOUBLE_COMPLEX, 16},
               {MPI_C_BOOL, 1},
               {MPI_BYTE, 1},
               {MPI_FLOAT_INT, 8},
               {MPI_DOUBLE_INT, 16},
               {MPI_LONG_INT, 16},
               {MPI_2INT, 8},
               {MPI_SHORT_INT, 8},
               {MPI_LONG_DOUBLE_INT, 32}};
  const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MIN,  MPI_MAX,    MPI_LAND,   MPI_LOR,    MPI_LXOR,
                        MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE};
  enum { kCount = 5 };
  int tried = 0;
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      char in[32 * kCount] = {0}, expected[32 * kCount] = {0}, result[32 * kCount] = {0};
      const int bytes = types[t].bytes * kCount;
      for (int i = 0; i < bytes; i += 4) in[i] = (char)(1 + i % 3), expected[i] = (char)(2 + i % 5);
      memcpy(mine, expected, sizeof expected);
      const int code = MPI_Get_accumulate(in, kCount, types[t].type, result, kCount, types[t].type,
                                          rank, 0, kCount, types[t].type, ops[o], win);
      int allowed = MPI_SUCCESS;
      if (ops[o] == MPI_REPLACE)
        memcpy(expected, in, sizeof in);
      else
        allowed = MPI_Reduce_local(in, expected, kCount, types[t].type, ops[o]);
      CHECK_EQ(class_of(code), class_of(allowed));
      if (code != MPI_SUCCESS) continue;
      ++tried;
      MPI_Aint lb, extent;
      OK(MPI_Type_get_extent(types[t].type, &lb, &extent));
      CHECK_EQ(extent, types[t].bytes);
      if (ops[o] != MPI_REPLACE) CHECK(memcmp(mine, expected, (size_t)bytes) == 0);
    }
  OK(MPI_Win_unlock(rank, win));
  CHECK(tried > 100);
  long value = 1;
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  FAILS(MPI_Accumulate(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, MPI_NO_OP, win), MPI_ERR_OP);
  FAILS(MPI_Accumulate(&value, 2, MPI_INT, rank, 0, 1, MPI_LONG, MPI_SUM, win), MPI_ERR_TYPE);
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
}

static void derived(MPI_Win win, char* mine) {
  enum { kRows = 100, kColumns = 8 };
  MPI_Datatype column, backwards;
  OK(MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column));
  OK(MPI_Type_vector(kRows, 1, -1, MPI_INT, &backwards));
  OK(MPI_Type_commit(&column));
  OK(MPI_Type_commit(&backwards));
  int in[kRows], got[kRows];
  for (int i = 0; i < kRows; ++i) in[i] = i;
  memset(mine, 0, kRows * kColumns * sizeof(int));
  OK(MPI_Win_fence(0, win));
  for (int c = 0; c < kColumns; ++c)
    OK(MPI_Accumulate(in + kRows - 1, 1, backwards, 0, c * 4, 1, column, MPI_SUM, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(got, kRows, MPI_INT, 0, 3 * 4, 1, column, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kRows; ++i) CHECK_EQ(got[i], size * (kRows - 1 - i));
  OK(MPI_Win_fence(0, win));
  if (rank == size - 1) OK(MPI_Put(in + kRows - 1, 1, backwards, 0, 5 * 4, 1, column, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get_accumulate(NULL, 0, MPI_INT, got + kRows - 1, 1, backwards, 0, 5 * 4, 1, column,
                        MPI_NO_OP, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kRows; ++i) CHECK_EQ(got[i], i);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&backwards));

  struct Pair {
    double value;
    int index;
  } pairs[3], first[3] = {{1, 9}, {1, 9}, {1, 9}};
  MPI_Datatype every_other;
  OK(MPI_Type_vector(3, 1, 2, MPI_DOUBLE_INT, &every_other));
  OK(MPI_Type_commit(&every_other));
  memset(mine, 0, 6 * sizeof(struct Pair));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 3; ++i) pairs[i].value = rank + 1, pairs[i].index = rank;
  OK(MPI_Accumulate(pairs, 3, MPI_DOUBLE_INT, 0, 0, 1, every_other, MPI_MAXLOC, win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(first, 3, MPI_DOUBLE_INT, 0, 0, 1, every_other, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 3; ++i) CHECK(first[i].value == size && first[i].index == size - 1);
  OK(MPI_Type_free(&every_other));
}

static void requests(MPI_Win win, char* mine) {
  enum { kMany = 300 };
  static int in[kMany], got[kMany];
  MPI_Request all[kMany];
  memset(mine, 0, kMany * sizeof(int));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock_all(0, win));
  const int next = (rank + 1) % size;
  for (int i = 0; i < kMany; ++i) {
    in[i] = i + rank;
    OK(MPI_Rput(in + i, 1, MPI_INT, next, i * 4, 1, MPI_INT, win, all + i));
  }
  OK(MPI_Waitall(kMany, all, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush(next, win));
  for (int i = 0; i < kMany; ++i)
    OK(MPI_Rget_accumulate(in + i, 1, MPI_INT, got + i, 1, MPI_INT, next, i * 4, 1, MPI_INT,
                           MPI_SUM, win, all + i));
  OK(MPI_Waitall(kMany, all, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMany; ++i) CHECK_EQ(got[i], i + rank);
  for (int i = 0; i < kMany; ++i)
    OK(MPI_Raccumulate(in + i, 1, MPI_INT, next, i * 4, 1, MPI_INT, MPI_REPLACE, win, all + i));
  OK(MPI_Waitall(kMany, all, MPI_STATUSES_IGNORE));
  OK(MPI_Win_flush_all(win));
  OK(MPI_Rget(got, kMany, MPI_INT, next, 0, kMany, MPI_INT, win, all));
  OK(MPI_Rget(got, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, all + 1));
  OK(MPI_Wait(all, MPI_STATUS_IGNORE));
  OK(MPI_Wait(all + 1, MPI_STATUS_IGNORE));
  for (int i = 0; i < kMany; ++i) CHECK_EQ(got[i], i + rank);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char* mine = NULL;
  MPI_Win win;
#ifdef OWN_MEMORY
  mine = malloc(300000);
  OK(MPI_Win_create(mine, 300000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
#else
  OK(MPI_Win_allocate(300000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
#endif
  counters(win, mine);
  swaps(win, mine);
  vectors(win, mine);
  operations(win, mine);
  derived(win, mine);
  requests(win, mine);
  OK(MPI_Win_free(&win));
#ifdef OWN_MEMORY
  free(mine);
#endif
  return end();
}
