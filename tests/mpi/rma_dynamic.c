// SPDX-License-Identifier: Apache-2.0
// Dynamic windows: attach and detach, displacements are addresses, detached memory is an error.
// ranks: 1 2 4
#include "check.h"

static void operations(MPI_Win win) {
  enum { kCount = 100, kRegions = 60 };
  static int regions[kRegions][kCount + 1];
  MPI_Aint mine[kRegions], theirs[kRegions];
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < kRegions; ++i) {
    OK(MPI_Win_attach(win, regions[i], kCount * sizeof(int)));
    OK(MPI_Get_address(regions[i], mine + i));
  }
  OK(MPI_Sendrecv(mine, kRegions, MPI_AINT, before, 0, theirs, kRegions, MPI_AINT, next, 0,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  int out[kCount], in[kCount];
  for (int i = 0; i < kCount; ++i) out[i] = rank * kCount + i;
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kRegions; ++i)
    OK(MPI_Put(out, kCount, MPI_INT, next, theirs[i], kCount, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kRegions; ++i)
    for (int k = 0; k < kCount; ++k) CHECK_EQ(regions[i][k], before * kCount + k);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  OK(MPI_Accumulate(out, kCount, MPI_INT, next, theirs[7], kCount, MPI_INT, MPI_SUM, win));
  OK(MPI_Get(in, 10, MPI_INT, next, MPI_Aint_add(theirs[9], 5 * sizeof(int)), 10, MPI_INT, win));
  OK(MPI_Win_unlock(next, win));
  for (int k = 0; k < 10; ++k) CHECK_EQ(in[k], rank * kCount + k + 5);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int k = 0; k < kCount; ++k) CHECK_EQ(regions[7][k], 2 * (before * kCount + k));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_detach(win, regions[3]));
  OK(MPI_Barrier(MPI_COMM_WORLD));

  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  const MPI_Aint wrong[] = {theirs[3], MPI_Aint_add(theirs[5], sizeof(int)), 64};
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    int code = MPI_Put(in, kCount, MPI_INT, next, wrong[i], kCount, MPI_INT, win);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(next, win);
    CHECK_EQ(class_of(code), MPI_ERR_RMA_RANGE);
    code = MPI_Get(in, kCount, MPI_INT, next, wrong[i], kCount, MPI_INT, win);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(next, win);
    CHECK_EQ(class_of(code), MPI_ERR_RMA_RANGE);
    OK(MPI_Put(out, kCount, MPI_INT, next, theirs[8], kCount, MPI_INT, win));
    OK(MPI_Win_unlock(next, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int k = 0; k < kCount; ++k) CHECK_EQ(regions[3][k], before * kCount + k);
  for (int i = 0; i < kRegions; ++i) CHECK_EQ(regions[i][kCount], 0);
  FAILS(MPI_Win_attach(win, regions[4], 4), MPI_ERR_RMA_ATTACH);
  FAILS(MPI_Win_attach(win, regions[4] - 1, 8), MPI_ERR_RMA_ATTACH);
  FAILS(MPI_Win_detach(win, regions[3]), MPI_ERR_RMA_ATTACH);
  FAILS(MPI_Win_detach(win, regions[4] + 1), MPI_ERR_RMA_ATTACH);
  for (int i = 0; i < kRegions; ++i)
    if (i != 3) OK(MPI_Win_detach(win, regions[i]));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win win;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  operations(win);
  operations(win);
  OK(MPI_Win_free(&win));
  char byte;
  OK(MPI_Win_create(&byte, 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  FAILS(MPI_Win_attach(win, &byte, 1), MPI_ERR_RMA_FLAVOR);
  FAILS(MPI_Win_detach(win, &byte), MPI_ERR_RMA_FLAVOR);
  OK(MPI_Win_free(&win));
  return end();
}
