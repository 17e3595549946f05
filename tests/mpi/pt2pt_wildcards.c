// SPDX-License-Identifier: Apache-2.0
// MPI_ANY_SOURCE, MPI_ANY_TAG, many tags in any order, long unexpected queues.
// ranks: 1 2 3 4 8
#include "check.h"

enum { kTags = 600 };

static void any_source_any_tag(void) {
  enum { kEach = 50 };
  if (rank != 0) {
    for (int i = 0; i < kEach; ++i) {
      const int value = rank * 1000 + i;
      OK(MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
    return;
  }
  int* next = calloc((size_t)size, sizeof *next);
  for (int i = 0; i < kEach * (size - 1); ++i) {
    MPI_Status status;
    int value = -1;
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE > 0 && status.MPI_SOURCE < size);
    CHECK_EQ(status.MPI_TAG, next[status.MPI_SOURCE]++);
    check_status(&status, value / 1000, value % 1000, MPI_INT, 1);
  }
  free(next);
}

static void scattered_tags(int bytes) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes * kTags + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request requests[kTags];
  for (int pass = 0; pass < 2; ++pass) {
    for (int tag = 0; tag < kTags; ++tag) {
      fill(out + (size_t)tag * (size_t)bytes, (size_t)bytes, (unsigned)(rank * 10000 + tag));
      OK(MPI_Isend(out + (size_t)tag * (size_t)bytes, bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD,
                   &requests[tag]));
    }
    for (int i = 0; i < kTags; ++i) {
      const int tag = pass ? kTags - 1 - i : i * 7 % kTags;
      MPI_Status status;
      OK(MPI_Recv(in, bytes, MPI_BYTE, left, tag, MPI_COMM_WORLD, &status));
      check_status(&status, left, tag, MPI_BYTE, bytes);
      CHECK_FILLED(in, (size_t)bytes, (unsigned)(left * 10000 + tag));
    }
    OK(MPI_Waitall(kTags, requests, MPI_STATUSES_IGNORE));
  }
  free(out);
  free(in);
}

static void posting_order_wins(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in[4] = {-1, -1, -1, -1}, out[4] = {0, 1, 2, 3};
  MPI_Request requests[4];
  MPI_Status statuses[4];
  OK(MPI_Irecv(&in[0], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(&in[1], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Irecv(&in[2], 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Irecv(&in[3], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[3]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  static const int tags[] = {5, 5, 6, 5};
  for (int i = 0; i < 4; ++i) OK(MPI_Send(&out[i], 1, MPI_INT, right, tags[i], MPI_COMM_WORLD));
  OK(MPI_Waitall(4, requests, statuses));
  CHECK_EQ(in[0], 0);
  CHECK_EQ(in[1], 1);
  CHECK_EQ(in[2], 3);
  CHECK_EQ(in[3], 2);
  CHECK_EQ(statuses[3].MPI_TAG, 6);
}

static void extreme_tags(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int* top = NULL;
  int flag = 0, in = -1;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &top, &flag));
  CHECK(flag && *top >= 32767);
  const int tags[] = {*top, 0, *top - 1, 32767};
  for (int i = 0; i < 4; ++i) {
    MPI_Status status;
    OK(MPI_Sendrecv(&tags[i], 1, MPI_INT, right, tags[i], &in, 1, MPI_INT, left, MPI_ANY_TAG,
                    MPI_COMM_WORLD, &status));
    check_status(&status, left, tags[i], MPI_INT, 1);
    CHECK_EQ(in, tags[i]);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  any_source_any_tag();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  scattered_tags(16);
  scattered_tags(3000);
  scattered_tags(20000);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  posting_order_wins();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  extreme_tags();
  return end();
}
