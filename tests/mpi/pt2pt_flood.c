// SPDX-License-Identifier: Apache-2.0
// 64 MiB of unreceived messages from each sender do not fill the receiver's memory. A message with
// another tag overtakes the unreceived messages.
// ranks: 2 3
// sanitizers: no, they keep freed memory
// env: TERN_UNEXPECTED_LIMIT=2M
#include "check.h"

enum {
  kMessages = 8192,
  kInts = 2048,
  kMostGrowthKiB = 16 * 1024
};  // TCP buffers some messages,
    // too

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * 4;
}

static void flood(int dest) {
  static MPI_Request requests[kMessages];
  int* data = malloc(sizeof(int) * kInts * kMessages);
  for (int i = 0; i < kInts * kMessages; ++i) data[i] = i ^ rank;
  for (int i = 0; i < kMessages; ++i) {
    const int count = i % 3 == 0 ? 2 : kInts;
    OK(MPI_Isend(data + i * kInts, count, MPI_INT, dest, 0, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Send(&rank, 1, MPI_INT, dest, 1, MPI_COMM_WORLD));
  OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
  free(data);
}

static void stem(int source) {
  static int in[kInts];
  const long before = resident_kib();
  int word;
  OK(MPI_Recv(&word, 1, MPI_INT, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(word, source);
  const long growth = resident_kib() - before;
  if (growth > (size - 1) * kMostGrowthKiB) FAIL("grown by %ld KiB", growth);
  for (int i = 0; i < kMessages; ++i) {
    MPI_Status status;
    int count;
    OK(MPI_Recv(in, kInts, MPI_INT, source, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, i % 3 == 0 ? 2 : kInts);
    for (int k = 0; k < count; ++k) CHECK_EQ(in[k], (i * kInts + k) ^ source);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (rank == 0)
    for (int source = 1; source < size; ++source) stem(source);
  else
    flood(0);
  return end();
}
