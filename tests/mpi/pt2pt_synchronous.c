// SPDX-License-Identifier: Apache-2.0
// A synchronous send does not complete before its receive starts.
// ranks: 2
#include "check.h"

static void sender(int bytes, char* buffer) {
  MPI_Request request;
  int flag = 1, token = 0;
  OK(MPI_Issend(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 2000; ++i) {
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    if (flag) FAIL("a synchronous send of %d bytes completed before the receive", bytes);
  }
  OK(MPI_Send(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receiver(int bytes, char* buffer) {
  int token = 0;
  OK(MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Recv(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  need(2);
  char* buffer = calloc(kLargest, 1);
  for (int i = 0; i < kSizeCount; i += 4)
    rank == 0 ? sender(kSizes[i], buffer) : receiver(kSizes[i], buffer);
  free(buffer);
  return end();
}
