// SPDX-License-Identifier: Apache-2.0
// Windows in shared memory: placement, and MPI_Win_shared_query.
// ranks: 1 2 4
// hosts: no, the ranks must share memory
#include <stdint.h>

#include "check.h"

static void query(MPI_Win win, int of, MPI_Aint bytes, int unit, char** base) {
  MPI_Aint found = -1;
  int its_unit = -1;
  *base = NULL;
  OK(MPI_Win_shared_query(win, of, &found, &its_unit, base));
  CHECK_EQ(found, bytes);
  CHECK_EQ(its_unit, unit);
}

static void parts(int apart) {
  MPI_Info info;
  MPI_Win win;
  char *mine, *base, *end = NULL;
  OK(MPI_Info_create(&info));
  if (apart) OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
  OK(MPI_Win_allocate_shared(rank * 40, rank + 1, info, MPI_COMM_WORLD, &mine, &win));
  OK(MPI_Info_free(&info));
  for (int i = 0; i < size; ++i) {
    query(win, i, i * 40, i + 1, &base);
    CHECK((base == NULL) == (apart && i == 0));
    if (i == rank && base != NULL) CHECK(base == mine);
    if (!apart && i > 0) CHECK(base == end);
    if (apart) CHECK_EQ((uintptr_t)base % 4096, 0);
    end = base + i * 40;
  }
  char* lowest;
  if (size > 1) {
    query(win, 1, 40, 2, &base);
    query(win, MPI_PROC_NULL, 40, 2, &lowest);
    CHECK(lowest == base);
  } else {
    query(win, MPI_PROC_NULL, 0, 0, &lowest);
    CHECK(lowest == NULL);
  }
  memset(mine, rank, (size_t)rank * 40);
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  OK(MPI_Win_sync(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_sync(win));
  for (int i = 0; i < size; ++i) {
    query(win, i, i * 40, i + 1, &base);
    CHECK(untouched(base, 0, (size_t)i * 40, i));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int last = size - 1;
  if (rank == 0 && last > 0) {
    const char value = 77;
    OK(MPI_Put(&value, 1, MPI_CHAR, last, 1, 1, MPI_CHAR, win));
    OK(MPI_Win_flush(last, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == last && last > 0) CHECK_EQ(mine[last + 1], 77);
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
}

static void others(void) {
  MPI_Win win;
  char *mine, *base, own[8];
  OK(MPI_Win_allocate(16, 2, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  for (int i = 0; i < size; ++i) query(win, i, 16, 2, &base);
  query(win, rank, 16, 2, &base);
  CHECK(base == mine);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create(own, sizeof own, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  query(win, rank, sizeof own, 4, &base);
  CHECK(base == own);
  if (size > 1) query(win, (rank + 1) % size, 0, 0, &base);
  if (size > 1) CHECK(base == NULL);
  query(win, MPI_PROC_NULL, rank == 0 ? sizeof own : 0, rank == 0 ? 4 : 0, &base);
  OK(MPI_Win_free(&win));
  MPI_Aint bytes;
  int unit;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_shared_query(win, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
  OK(MPI_Win_free(&win));
}

// Only touched pages use memory.
static void large(void) {
  MPI_Win win;
  char* mine;
  const MPI_Aint bytes = (MPI_Aint)1 << 32;
  OK(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  mine[bytes - 1] = 5;
  mine[0] = 6;
  OK(MPI_Win_fence(0, win));
  char got[2] = {0};
  OK(MPI_Get(got, 1, MPI_CHAR, (rank + 1) % size, bytes - 1, 1, MPI_CHAR, win));
  OK(MPI_Get(got + 1, 1, MPI_CHAR, (rank + 1) % size, 0, 1, MPI_CHAR, win));
  OK(MPI_Win_fence(0, win));
  CHECK(got[0] == 5 && got[1] == 6);
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  parts(0);
  parts(1);
  others();
  large();
  return end();
}
