// SPDX-License-Identifier: Apache-2.0
// Ten thousand outstanding requests, received in another order. Bursts to a busy receiver follow.
// ranks: 1 2 4
// timeout: 120
#include "check.h"

enum { kMany = 10000 };

static void outstanding(int receives_first) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int *out = malloc(kMany * sizeof *out), *in = malloc(kMany * sizeof *in);
  MPI_Request* requests = malloc(2 * kMany * sizeof *requests);
  MPI_Status* statuses = malloc(2 * kMany * sizeof *statuses);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < kMany; ++i) {
      if ((pass == 0) == receives_first) {
        const int tag = (int)((long long)i * 7919 % kMany);
        in[tag] = -1;
        OK(MPI_Irecv(&in[tag], 1, MPI_INT, left, tag, MPI_COMM_WORLD, &requests[tag]));
      } else {
        out[i] = rank * 100000 + i;
        OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[kMany + i]));
      }
    }
  OK(MPI_Waitall(2 * kMany, requests, statuses));
  for (int i = 0; i < kMany; ++i) {
    CHECK_EQ(in[i], left * 100000 + i);
    check_status(&statuses[i], left, i, MPI_INT, 1);
  }
  free(out);
  free(in);
  free(requests);
  free(statuses);
}

static void flood(int bytes, int messages) {
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request* requests = malloc((size_t)messages * sizeof *requests);
  if (rank > 0) {
    fill(out, (size_t)bytes, (unsigned)rank);
    for (int i = 0; i < messages; ++i)
      OK(MPI_Isend(out, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Send(NULL, 0, MPI_BYTE, 0, messages, MPI_COMM_WORLD));
    OK(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
  } else {
    for (int source = size - 1; source > 0; --source)
      OK(MPI_Recv(NULL, 0, MPI_BYTE, source, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = messages - 1; i >= 0; --i)
      for (int source = 1; source < size; ++source) {
        memset(in, 0, (size_t)bytes);
        OK(MPI_Recv(in, bytes, MPI_BYTE, source, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_FILLED(in, (size_t)bytes, (unsigned)source);
      }
  }
  free(out);
  free(in);
  free(requests);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  outstanding(1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  outstanding(0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  flood(0, 5000);
  flood(40, 5000);
  flood(4000, 3000);
  flood(20000, 500);
  return end();
}
