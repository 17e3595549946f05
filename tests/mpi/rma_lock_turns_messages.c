// SPDX-License-Identifier: Apache-2.0
// All ranks lock rank 0's memory repeatedly, by messages, until rank 0 had kTurns turns.
// ranks: 3 4
// env: TERN_TEST=rma=messages
// timeout: 20
#include "check.h"

enum { kTurns = 50 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win win;
  long* memory;
  long turns = 0;
  const long one = 1;
  OK(MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  *memory = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  while (turns < kTurns) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    if (rank == 0) OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Get(&turns, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Win_free(&win));
  return end();
}
