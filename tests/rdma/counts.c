// SPDX-License-Identifier: Apache-2.0
/* counts TIMES: all ranks add one to a counter of the first and of the last rank, TIMES each, by
 * MPI_Fetch_and_op. No value is fetched twice by a rank, and the sums are exact. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long long times = argc > 1 ? atoll(argv[1]) : 2000, one = 1;
  long long* counter;
  MPI_Win window;
  MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter,
                   &window);
  *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  int wrong = 0;
  long long fetched[2], before[2] = {-1, -1};
  for (long long i = 0; i < times; ++i) {
    for (int end = 0; end < 2; ++end)
      MPI_Fetch_and_op(&one, &fetched[end], MPI_LONG_LONG, end * (size - 1), 0, MPI_SUM, window);
    MPI_Win_flush_all(window);
    for (int end = 0; end < 2; ++end) {
      wrong += fetched[end] <= before[end];
      before[end] = fetched[end];
    }
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  const long long expected = rank == 0 || rank == size - 1 ? times * size : 0;
  if (*counter != expected) {
    printf("rank %d: the counter is %lld, expected %lld\n", rank, *counter, expected);
    ++wrong;
  }
  MPI_Win_unlock(rank, window);
  if (wrong) printf("rank %d: %d faults\n", rank, wrong);
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong != 0;
}
