// SPDX-License-Identifier: Apache-2.0
// Many threads, one after the other, record their calls without new memory for each thread.
// ranks: 1
// env: TERN_PROFILE=1
// expect-stderr: MPI_Barrier
// timeout: 60
// sanitizers: no, memory is measured
#include "check.h"

#include <pthread.h>

enum { kThreads = 2000, kMostGrowthKiB = 4096 };

static void* one_barrier(void* argument) {
  (void)argument;
  OK(MPI_Barrier(MPI_COMM_SELF));
  return NULL;
}

static void run_threads(int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, one_barrier, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
  }
}

static long resident_kib(void) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
  fclose(file);
  return pages * 4;
}

int main(int argc, char** argv) {
  begin_with_threads(&argc, &argv);
  run_threads(100);
  const long before = resident_kib();
  run_threads(kThreads);
  const long growth = resident_kib() - before;
  if (growth > kMostGrowthKiB) printf("%d threads take %ld KiB\n", kThreads, growth);
  CHECK(growth <= kMostGrowthKiB);
  return end();
}
