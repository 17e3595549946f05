// SPDX-License-Identifier: Apache-2.0
// The shortest program with a window: allocate, put and get between fences, free.
// ranks: 1 2 4
#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  enum { kCount = 1000 };
  int* mine = NULL;
  MPI_Win win;
  OK(MPI_Win_allocate(kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                      &win));
  for (int i = 0; i < kCount; ++i) mine[i] = -1;
  OK(MPI_Win_fence(0, win));
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int out[kCount], in[kCount];
  for (int i = 0; i < kCount; ++i) out[i] = rank * kCount + i;
  OK(MPI_Put(out, kCount, MPI_INT, next, 0, kCount, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < kCount; ++i) CHECK_EQ(mine[i], before * kCount + i);
  OK(MPI_Get(in, kCount - 1, MPI_INT, next, 1, kCount - 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i + 1 < kCount; ++i) CHECK_EQ(in[i], rank * kCount + i + 1);
  OK(MPI_Win_free(&win));
  CHECK(win == MPI_WIN_NULL);
  return end();
}
