// SPDX-License-Identifier: Apache-2.0
// Ranks without free slabs turn a nonblocking broadcast into a schedule at different times, during
// measurements of equal blocking broadcasts. All ranks use one row.
// ranks: 4
// env: TERN_COLL_TUNE=learn
#include <unistd.h>

#include "check.h"

enum { kHoard = 40, kMost = 4000, kRounds = 30 };

static char data[kMost], late[kMost];

static void expect(const char* bytes, int n, int value) {
  for (int i = 0; i < n; ++i) CHECK_EQ(bytes[i], value);
}

static void one_round(MPI_Comm comm, int n, int round) {
  MPI_Comm twin;
  MPI_Request request;
  OK(MPI_Comm_dup(comm, &twin));
  for (int call = 0; call < 31 + round % 28; ++call) OK(MPI_Bcast(data, n, MPI_BYTE, 0, twin));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  memset(late, rank == 0 ? round + 1 : 0, (size_t)n);
  if (rank != 0) usleep(1000);
  OK(MPI_Ibcast(late, n, MPI_BYTE, 0, twin, &request));
  for (int call = 0; call < 9; ++call) {
    memset(data, rank == 0 ? call + 1 : 0, (size_t)n);
    OK(MPI_Bcast(data, n, MPI_BYTE, 0, twin));
    expect(data, n, call + 1);
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect(late, n, round + 1);
  OK(MPI_Comm_free(&twin));
}

int main(int argc, char** argv) {
  MPI_Comm hoard[kHoard];
  begin(&argc, &argv);
  for (int i = 0; i < kHoard; ++i) {
    int mine = 1, sum = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &hoard[i]));
    OK(MPI_Bcast(data, kMost, MPI_BYTE, 0, hoard[i]));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, hoard[i]));
  }
  for (int round = 0; round < kRounds; ++round) one_round(hoard[kHoard - 1], 1000, round);
  for (int round = 0; round < kRounds; ++round) one_round(hoard[kHoard - 1], kMost, round);
  for (int i = 0; i < kHoard; ++i) OK(MPI_Comm_free(&hoard[i]));
  MPI_Finalize();
  return 0;
}
