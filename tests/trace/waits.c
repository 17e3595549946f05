// SPDX-License-Identifier: Apache-2.0
// A program for 4 ranks with a wait of each kind, 100 ms each. Prints each wait with the seconds
// that its ranks measured. docs/trace.png shows its trace.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static void compute(int here, long ms) {
  const struct timespec time = {0, ms * 1000000};
  if (here) nanosleep(&time, NULL);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void tell(int here, const char* wait, double begin) {
  if (here) printf("%s %.6f\n", wait, now() - begin);
}

static void windows(int rank) {
  int *base, value = rank;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  compute(rank == 2, 100);
  double begin = now();
  MPI_Win_fence(0, window);
  tell(rank != 2, "fence", begin);
  MPI_Win_fence(0, window);
  // Rank 0 has the lock before rank 3 asks.
  if (rank == 3) MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0 || rank == 3) {
    begin = now();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    tell(rank == 3, "lock", begin);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 3, 1, MPI_COMM_WORLD);
    compute(rank == 0, 100);
    MPI_Win_unlock(1, window);
  }
  MPI_Win_free(&window);
}

static void messages(int rank) {
  char text[64] = "late";
  compute(rank == 1, 100);
  if (rank == 1) MPI_Send(text, sizeof text, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
  const double begin = now();
  if (rank == 0) MPI_Recv(text, sizeof text, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  tell(rank == 0, "late_sender", begin);
}

static void collectives(int rank) {
  int value = rank, sum;
  MPI_Request request;
  compute(rank == 1, 100);
  double begin = now();
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  tell(rank != 1, "collective", begin);
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  compute(rank == 3, 100);
  begin = now();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  tell(rank != 3, "progress", begin);
  if (sum != 6) fprintf(stderr, "wrong sum %d: 4 ranks are needed\n", sum);
}

int main(void) {
  int rank;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  windows(rank);
  messages(rank);
  collectives(rank);
  compute(rank == 0, 100);
  const double begin = now();
  MPI_Finalize();
  tell(rank != 0, "early_finish", begin);
}
