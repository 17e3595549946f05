// SPDX-License-Identifier: Apache-2.0
// Small collectives advance a large message, even without pending work of their own.
// ranks: 2 3
#include "check.h"

int main(int argc, char** argv) {
  enum { kCount = 1 << 18, kRounds = 2000 };
  static int data[kCount];
  begin(&argc, &argv);
  need(2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < kCount; ++i) data[i] = rank == 0 ? i : -1;
  if (rank == 0) OK(MPI_Isend(data, kCount, MPI_INT, 1, 0, MPI_COMM_WORLD, &request));
  if (rank == 1) OK(MPI_Irecv(data, kCount, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
  for (int i = 0; i < kRounds; ++i) OK(MPI_Barrier(MPI_COMM_WORLD));
  int done = 0;
  OK(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
  if (!done) FAIL("the message is not over after %d barriers", kRounds);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < kCount; ++i)
    if (rank < 2 && data[i] != i) FAIL("element %d is %d", i, data[i]);
  return end();
}
