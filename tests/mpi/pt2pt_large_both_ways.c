// SPDX-License-Identifier: Apache-2.0
// Large messages in both directions at once, and all to all.
// ranks: 1 2 4 8
// timeout: 120
#include "check.h"

enum { kAtOnce = 8 };

static void both_ways(int bytes) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int from[2] = {left, right};
  char *out[kAtOnce], *in[2 * kAtOnce];
  MPI_Request requests[4 * kAtOnce];
  int n = 0;
  for (int i = 0; i < 2 * kAtOnce; ++i) {
    in[i] = malloc((size_t)bytes);
    OK(MPI_Irecv(in[i], bytes, MPI_BYTE, from[i % 2], 10 + i / 2 * 2 + i % 2, MPI_COMM_WORLD,
                 &requests[n++]));
  }
  for (int i = 0; i < kAtOnce; ++i) {
    out[i] = malloc((size_t)bytes);
    fill(out[i], (size_t)bytes, (unsigned)(rank * 100 + i));
    OK(MPI_Isend(out[i], bytes, MPI_BYTE, right, 10 + i * 2, MPI_COMM_WORLD, &requests[n++]));
    OK(MPI_Isend(out[i], bytes, MPI_BYTE, left, 11 + i * 2, MPI_COMM_WORLD, &requests[n++]));
  }
  OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * kAtOnce; ++i) {
    CHECK_FILLED(in[i], (size_t)bytes, (unsigned)(from[i % 2] * 100 + i / 2));
    free(in[i]);
  }
  for (int i = 0; i < kAtOnce; ++i) free(out[i]);
}

static void all_to_all(int bytes) {
  char* out = malloc((size_t)bytes);
  char* in = malloc((size_t)bytes);
  MPI_Request* requests = malloc((size_t)size * sizeof *requests);
  fill(out, (size_t)bytes, (unsigned)rank);
  for (int to = 0; to < size; ++to)
    OK(MPI_Isend(out, bytes, MPI_BYTE, to, 5, MPI_COMM_WORLD, &requests[to]));
  for (int i = 0; i < size; ++i) {
    MPI_Status status;
    OK(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
    CHECK_FILLED(in, (size_t)bytes, (unsigned)status.MPI_SOURCE);
  }
  OK(MPI_Waitall(size, requests, MPI_STATUSES_IGNORE));
  free(out);
  free(in);
  free(requests);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static const int sizes[] = {9000, 32769, 131073, 1000003, 4194305};
  for (int i = 0; i < 5; ++i) {
    if (sizes[i] <= 1000003 || size <= 2) both_ways(sizes[i]);
    all_to_all(sizes[i] / (size > 4 ? 4 : 1));
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return end();
}
