/* SPDX-License-Identifier: Apache-2.0
 * A rod warmed at one end. The ranks share an array and read neighbouring cells without copies.
 * Why: ranks of one host need no halo messages.
 * ranks: 1 2 4
 * args: 200
 * expect-stdout: ^200 steps: as one rank computes it
 * hosts: no, the ranks must share memory */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 1000 }; /* of each rank */

static double step(double left, double here, double right) {
  return here + 0.25 * (left - 2 * here + right);
}

/* The sum of all cells, computed by one rank. */
static double alone(int cells, long steps) {
  double* old = calloc((size_t)cells + 2, sizeof *old);
  double* new = calloc((size_t)cells + 2, sizeof *new);
  old[0] = new[0] = 100;
  for (long s = 0; s < steps; ++s) {
    for (int i = 1; i <= cells; ++i) new[i] = step(old[i - 1], old[i], old[i + 1]);
    double* const kept = old;
    old = new;
    new = kept;
  }
  double sum = 0;
  for (int i = 1; i <= cells; ++i) sum += old[i];
  free(old);
  free(new);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm host; /* ranks that can share memory */
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank, size;
  MPI_Comm_rank(host, &rank);
  MPI_Comm_size(host, &size);
  const long steps = argc > 1 ? atol(argv[1]) : 2000;

  /* Two rows. The cells are contiguous across ranks, so one pointer reaches all. */
  double *mine[2], *row[2];
  MPI_Win window[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Aint bytes;
    int unit;
    MPI_Win_allocate_shared(kCells * sizeof(double), sizeof(double), MPI_INFO_NULL, host, &mine[i],
                            &window[i]);
    MPI_Win_shared_query(window[i], 0, &bytes, &unit, &row[i]);
    for (int c = 0; c < kCells; ++c)
      mine[i][c] = 0; /* the first touch places a page near this rank */
    MPI_Win_fence(0, window[i]);
  }

  const int cells = kCells * size, first = kCells * rank;
  int now = 0;
  for (long s = 0; s < steps; ++s) {
    const double* const old = row[now];
    double* const new = row[1 - now];
    for (int i = first; i < first + kCells; ++i)
      new[i] = step(i > 0 ? old[i - 1] : 100, old[i], i + 1 < cells ? old[i + 1] : 0);
    now = 1 - now;
    MPI_Win_fence(0, window[now]); /* the new row is complete */
  }

  double sum = 0, total;
  for (int i = first; i < first + kCells; ++i) sum += row[now][i];
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, host);
  const double expected = alone(cells, steps);
  const double off = total - expected;
  const int wrong = off > 1e-6 || off < -1e-6;
  if (rank == 0)
    printf("%ld steps: %s (the sum of %d cells is %.3f)\n", steps,
           wrong ? "NOT as one rank computes it" : "as one rank computes it", cells, total);
  for (int i = 0; i < 2; ++i) MPI_Win_free(&window[i]);
  MPI_Comm_free(&host);
  MPI_Finalize();
  return wrong;
}
