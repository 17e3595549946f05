// SPDX-License-Identifier: Apache-2.0
// Operations on the memory of a computing target end long before the target returns, on every path.
// ranks: 3
// full-ranks: 2 4
// timeout: 30
// variant: alone
//   No thread moves messages: nothing of the target's helps.
//   ranks: 2
//   full-ranks: 4
//   env: TERN_PROGRESS=calls TERN_EXPLAIN=1
//   expect-stderr: of [24] ranks accessed in shared memory, [13] by copies.*, 0 by messages
//   hosts: no, other hosts need the target's help
//   transport: sm, as other hosts do
#include <time.h>

#include "check.h"

enum { kRounds = 20 };
static const double kComputes = 3, kMost = 1.5;

static void compute(double seconds) {
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
  }
}

static void serve(MPI_Win win, const char* what) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    compute(kComputes);
  } else {
    const double start = MPI_Wtime();
    for (int i = 0; i < kRounds; ++i) {
      const int one = 1, mine = rank * 100 + i;
      int old = -1, back = -1;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
      OK(MPI_Put(&mine, 1, MPI_INT, 0, rank, 1, MPI_INT, win));
      OK(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win));
      OK(MPI_Win_flush(0, win));
      OK(MPI_Get(&back, 1, MPI_INT, 0, rank, 1, MPI_INT, win));
      OK(MPI_Win_unlock(0, win));
      CHECK_EQ(back, mine);
      CHECK(old >= 0);
    }
    const double took = MPI_Wtime() - start;
    if (took > kMost)
      FAIL("%s: %d rounds took %.1f s while the target computed", what, kRounds, took);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int memory[64] = {0};
  MPI_Win win;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));  // programs break the promise
  OK(MPI_Win_create(memory, sizeof memory, sizeof(int), info, MPI_COMM_WORLD, &win));
  OK(MPI_Info_free(&info));
  serve(win, "created");
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  if (rank == 0) CHECK_EQ(memory[0], kRounds * (size - 1));
  OK(MPI_Win_unlock(rank, win));
  OK(MPI_Win_free(&win));
  int* base = NULL;
  OK(MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  for (int i = 0; i < 64; ++i) base[i] = 0;
  OK(MPI_Win_unlock(rank, win));
  serve(win, "allocated");
  if (rank == 0) CHECK_EQ(base[0], kRounds * (size - 1));
  OK(MPI_Win_free(&win));
  return end();
}
