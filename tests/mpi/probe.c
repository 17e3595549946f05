// SPDX-License-Identifier: Apache-2.0
// MPI_Probe and MPI_Iprobe report the next message, and change nothing.
// ranks: 1 2 3 4
#include "check.h"

static void probe_then_receive(int bytes, int wild) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request sending;
  MPI_Status status;
  fill(out, (size_t)bytes, (unsigned)rank);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right, bytes % 1000, MPI_COMM_WORLD, &sending));
  const int source = wild ? MPI_ANY_SOURCE : left, tag = wild ? MPI_ANY_TAG : bytes % 1000;
  for (int twice = 0; twice < 2; ++twice) {
    OK(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
    check_status(&status, left, bytes % 1000, MPI_BYTE, bytes);
  }
  OK(MPI_Probe(source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  int flag = 0;
  OK(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQ(flag, 1);
  check_status(&status, left, bytes % 1000, MPI_BYTE, bytes);
  OK(MPI_Recv(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
  CHECK_FILLED(in, (size_t)bytes, (unsigned)left);
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &status));
  CHECK_EQ(flag, 0);
  free(out);
  free(in);
}

static void iprobe_until_there(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request sending;
  MPI_Status status;
  char *out = calloc(100000, 1), *in = malloc(100000);
  OK(MPI_Isend(out, 100000, MPI_BYTE, right, 77, MPI_COMM_WORLD, &sending));
  for (int flag = 0; !flag;) OK(MPI_Iprobe(left, 77, MPI_COMM_WORLD, &flag, &status));
  check_status(&status, left, 77, MPI_BYTE, 100000);
  OK(MPI_Recv(in, 100000, MPI_BYTE, left, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  free(out);
  free(in);
}

static void picks_by_tag(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out[4] = {10, 11, 12, 13}, in = -1;
  MPI_Request requests[4];
  MPI_Status status;
  static const int tags[] = {1, 2, 1, 2};
  for (int i = 0; i < 4; ++i)
    OK(MPI_Isend(&out[i], 1, MPI_INT, right, tags[i], MPI_COMM_WORLD, &requests[i]));
  OK(MPI_Probe(left, 2, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_TAG, 2);
  OK(MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_TAG, 1);
  static const int order[] = {1, 0, 2, 3}, tag_of[] = {2, 1, 1, 2};
  for (int i = 0; i < 4; ++i) {
    OK(MPI_Recv(&in, 1, MPI_INT, left, tag_of[i], MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 10 + order[i]);
  }
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int i = 0; i < kSizeCount; i += 2) {
    probe_then_receive(kSizes[i], 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    probe_then_receive(kSizes[i], 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  iprobe_until_there();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  picks_by_tag();
  return end();
}
