// SPDX-License-Identifier: Apache-2.0
// The first thread of each rank but rank 0 ends by pthread_exit. /proc shows a zombie, but MPI
// works.
// ranks: 2 3
// variant: late
//   The first threads have exchanged large data before.
//   args: late
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { kInts = 1 << 18, kRounds = 20 };

static void* work(void* nothing) {
  static int data[kInts], sum[kInts];
  int* memory;
  MPI_Win window;
  usleep(300000);  // longer than the delay of checks for dead ranks
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  for (int round = 0; round < kRounds; ++round) {
    const int count = round % 2 == 0 ? kInts : 16, right = (rank + 1) % size;
    data[0] = round;
    if (rank == 0) {
      usleep(10000);
      OK(MPI_Send(data, count, MPI_INT, right, 1, MPI_COMM_WORLD));
      OK(MPI_Recv(data, count, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_Recv(data, count, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Send(data, count, MPI_INT, right, 1, MPI_COMM_WORLD));
    }
    CHECK_EQ(data[0], round);
    OK(MPI_Allreduce(data, sum, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_EQ(sum[0], round);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window));
    OK(MPI_Put(&round, 1, MPI_INT, right, 0, 1, MPI_INT, window));
    OK(MPI_Win_unlock(right, window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Win_free(&window));
  OK(MPI_Finalize());
  exit(0);
  return nothing;
}

// The exchange proves to the library that shared memory and copies work.
static void before_the_end(void) {
  static int data[kInts], sum[kInts];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  OK(MPI_Sendrecv(data, kInts, MPI_INT, right, 2, sum, kInts, MPI_INT, left, 2, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  OK(MPI_Allreduce(data, sum, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (argc > 1) before_the_end();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  if (rank != 0) pthread_exit(NULL);
  pthread_join(thread, NULL);
  return 1;
}
