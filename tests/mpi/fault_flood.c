// SPDX-License-Identifier: Apache-2.0
// A million messages, not received for two seconds: the receiver's memory stays bounded, and the
// order holds. Then senders in a cycle.
// ranks: 2 3
// sanitizers: no, they keep freed memory
// timeout: 120
// env: TERN_UNEXPECTED_LIMIT=4M
#include <unistd.h>

#include "check.h"

enum { kMessages = 1000000, kMostInts = 1000, kMostGrowthKiB = 32 * 1024, kCycle = 200000 };

static long peak_kib(void) {
  char line[256];
  long kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %ld kB", &kib) == 1) break;
  fclose(file);
  CHECK(kib > 0);
  return kib;
}

static int ints_of(int number) { return number % 1000 == 0 ? kMostInts : number % 3; }

static void flood(void) {
  static int data[kMostInts];
  for (int i = 0; i < kMessages / (size - 1); ++i) {
    data[0] = i;
    OK(MPI_Send(data, ints_of(i), MPI_INT, 0, 0, MPI_COMM_WORLD));
  }
}

static void stem(void) {
  static int in[kMostInts];
  const long before = peak_kib();
  int next[8] = {0};
  sleep(1);
  int found = 0;
  MPI_Status status;
  for (const double start = MPI_Wtime(); MPI_Wtime() - start < 1;)
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &found, &status));
  CHECK_EQ(found, 0);
  for (int i = 0; i < kMessages / (size - 1) * (size - 1); ++i) {
    int count;
    OK(MPI_Recv(in, kMostInts, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    const int number = next[status.MPI_SOURCE]++;
    CHECK_EQ(count, ints_of(number));
    if (count > 0) CHECK_EQ(in[0], number);
  }
  const long growth = peak_kib() - before;
  if (growth > kMostGrowthKiB * (size - 1)) FAIL("grown by %ld KiB", growth);
}

static void cycle(void) {
  static MPI_Request requests[kCycle];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  static int data[kCycle];
  for (int i = 0; i < kCycle; ++i) {
    data[i] = i;
    OK(MPI_Isend(&data[i], i % 2, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < kCycle; ++i) {
    int in = -1;
    OK(MPI_Recv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(in, i % 2 == 0 ? -1 : i);
  }
  OK(MPI_Waitall(kCycle, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (rank == 0)
    stem();
  else
    flood();
  MPI_Barrier(MPI_COMM_WORLD);
  cycle();
  return end();
}
