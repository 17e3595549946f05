// SPDX-License-Identifier: Apache-2.0
// A rank in MPI_Finalize still answers a neighbor that cancels a message.
// ranks: 2 4 7
// timeout: 20
#include <unistd.h>

#include "check.h"

static char large[1 << 20];

static void take_back(int count, int to) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  OK(MPI_Issend(large, count, MPI_BYTE, to, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (rank % 2 == 0 && rank + 1 < size) {
    usleep(100000);
    take_back(1, rank + 1);
    take_back(sizeof large, rank + 1);
  }
  return end();
}
