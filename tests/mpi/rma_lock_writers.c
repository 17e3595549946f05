// SPDX-License-Identifier: Apache-2.0
// Overlapping shared locks do not starve an exclusive lock. After the unlock, all waiting readers
// get the lock.
// ranks: 4
// timeout: 30
#include <unistd.h>

#include "check.h"

enum { kTurns = 20 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win win;
  int *memory, stop = 0;
  const int one = 1;
  OK(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memory[0] = memory[1] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const double start = MPI_Wtime();
  for (int turn = 0; rank == 3 && turn < kTurns; ++turn) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, turn + 1 == kTurns, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
  }
  while (rank < 3 && !stop) {
    CHECK(MPI_Wtime() - start < 20);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&stop, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
    usleep(1000);
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK_EQ(memory[0], kTurns - 1);
  OK(MPI_Win_free(&win));
  return end();
}
