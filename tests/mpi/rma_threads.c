// SPDX-License-Identifier: Apache-2.0
// Concurrent threads, each with a window, and all on one window.
// ranks: 1 2 4
// cflags: -pthread
// timeout: 120
// variant: network
//   RDMA, emulated by UCX between ranks of a host.
//   ranks: 2 4
//   env: TERN_TRANSPORT=ucx TERN_TEST=rma=network
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 200 };

static MPI_Win common[2];
static long* common_base[2];
static MPI_Comm comms[kThreads];

static void* count(void* argument) {
  const int mine = (int)(long)argument;
  static long old[kThreads][kRounds][2];  // written until the next flush
  const long one = 1;
  for (int i = 0; i < kRounds; ++i)
    for (int w = 0; w < 2; ++w) {
      const int target = (mine + i) % size;
      OK(MPI_Fetch_and_op(&one, &old[mine][i][w], MPI_LONG, target, 0, MPI_SUM, common[w]));
      if (i % 8 == 0) OK(MPI_Win_flush(target, common[w]));
    }
  for (int w = 0; w < 2; ++w) OK(MPI_Win_flush_all(common[w]));
  return NULL;
}

static void* own_window(void* argument) {
  const int mine = (int)(long)argument;
  for (int i = 0; i < 10; ++i) {
    long *base, memory[2] = {0, 0};
    MPI_Win win;
    if (mine % 2 == 0)
      OK(MPI_Win_allocate(16, 8, MPI_INFO_NULL, comms[mine], &base, &win));
    else
      OK(MPI_Win_create(memory, 16, 8, MPI_INFO_NULL, comms[mine], &win));
    if (mine % 2 != 0) base = memory;
    base[0] = base[1] = 0;
    OK(MPI_Barrier(comms[mine]));
    for (int k = 0; k < 20; ++k) {
      const long one = 1;
      OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, k % size, 0, win));
      OK(MPI_Accumulate(&one, 1, MPI_LONG, k % size, 1, 1, MPI_LONG, MPI_SUM, win));
      OK(MPI_Win_unlock(k % size, win));
    }
    OK(MPI_Win_fence(0, win));
    long expected = 0;
    for (int k = 0; k < 20; ++k) expected += k % size == rank ? size : 0;
    CHECK_EQ(base[1], expected);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_free(&win));
  }
  return NULL;
}

static void on_threads(void* (*work)(void*)) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void*)i) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char** argv) {
  int level;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
  CHECK_EQ(level, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  static long memory;
  OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &common_base[0], &common[0]));
  OK(MPI_Win_create(&memory, 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &common[1]));
  common_base[1] = &memory;
  *common_base[0] = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int w = 0; w < 2; ++w) OK(MPI_Win_lock_all(0, common[w]));
  on_threads(count);
  for (int w = 0; w < 2; ++w) OK(MPI_Win_unlock_all(common[w]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int w = 0; w < 2; ++w) {
    long sum = 0;
    OK(MPI_Allreduce(common_base[w], &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, (long)kThreads * kRounds * size);
    OK(MPI_Win_free(&common[w]));
  }
  for (int i = 0; i < kThreads; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  on_threads(own_window);
  for (int i = 0; i < kThreads; ++i) OK(MPI_Comm_free(&comms[i]));
  return end();
}
