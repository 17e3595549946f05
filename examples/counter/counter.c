/* SPDX-License-Identifier: Apache-2.0
 * Distributes tasks of different length by a counter in a window: a free rank takes the next
 * number. Why: no rank distributes work, and no rank waits while tasks remain. ranks: 1 2 4 8 args:
 * 400 expect-stdout: ^400 tasks, each done once */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* A task of unpredictable length: the steps of a Collatz sequence. */
static long steps_from(long n) {
  long steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

static long do_task(long task) {
  long steps = 0;
  for (long i = 0; i < 2000; ++i) steps += steps_from(task * 2000 + i + 1);
  return steps;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long tasks = argc > 1 ? atol(argv[1]) : 4000;

  /* Only rank 0 contributes memory: the counter. */
  long* counter;
  MPI_Win window;
  const MPI_Aint bytes = rank == 0 ? (MPI_Aint)sizeof *counter : 0;
  MPI_Win_allocate(bytes, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  MPI_Win_set_name(window, "the counter");
  if (rank == 0) *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);

  const double start = MPI_Wtime();
  const long one = 1;
  long mine = 0, task = 0, sums[3] = {0, 0, 0};
  MPI_Win_lock_all(0, window);
  for (;;) {
    MPI_Fetch_and_op(&one, &task, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window); /* completes the fetch */
    if (task >= tasks) break;
    sums[0] += 1;
    sums[1] += task;
    sums[2] += do_task(task);
    ++mine;
  }
  MPI_Win_unlock_all(window);

  long all[3], most;
  MPI_Reduce(sums, all, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  int wrong = 0;
  if (rank == 0) {
    wrong = all[0] != tasks || all[1] != tasks * (tasks - 1) / 2;
    printf("%ld tasks, %s: %ld steps in %.3f s; the busiest of %d ranks did %ld\n", all[0],
           wrong ? "NOT each done once" : "each done once", all[2], MPI_Wtime() - start, size,
           most);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong;
}
