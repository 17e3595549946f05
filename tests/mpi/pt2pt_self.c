// SPDX-License-Identifier: Apache-2.0
// Messages of a rank to itself, on two communicators, in either order of send and receive.
// ranks: 1 2 singleton
#include "check.h"

static void to_self(MPI_Comm comm, int me, int bytes, int receive_first, char* out, char* in) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill(out, (size_t)bytes, (unsigned)bytes);
  memset(in, 0x5a, (size_t)bytes + 1);
  const int s = receive_first ? 1 : 0, r = 1 - s;
  if (receive_first) OK(MPI_Irecv(in, bytes, MPI_BYTE, me, 9, comm, &requests[r]));
  OK(MPI_Isend(out, bytes, MPI_BYTE, me, 9, comm, &requests[s]));
  if (!receive_first) OK(MPI_Irecv(in, bytes, MPI_BYTE, me, 9, comm, &requests[r]));
  OK(MPI_Waitall(2, requests, statuses));
  check_status(&statuses[r], me, 9, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)bytes);
  CHECK(untouched(in, (size_t)bytes, (size_t)bytes + 1, 0x5a));
}

static void contexts_are_apart(void) {
  int a = 1, b = 2, in = 0, flag = 1;
  MPI_Request requests[2];
  OK(MPI_Isend(&a, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]));
  OK(MPI_Iprobe(rank, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
  OK(MPI_Isend(&b, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Recv(&in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 2);
  OK(MPI_Recv(&in, 1, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 1);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char *out = malloc(kLargest), *in = malloc(kLargest + 1);
  for (int i = 0; i < kSizeCount; ++i)
    for (int first = 0; first < 2; ++first) {
      to_self(MPI_COMM_SELF, 0, kSizes[i], first, out, in);
      to_self(MPI_COMM_WORLD, rank, kSizes[i], first, out, in);
    }
  contexts_are_apart();
  int value = rank;
  OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, rank, 1, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(value, rank);
  free(out);
  free(in);
  return end();
}
