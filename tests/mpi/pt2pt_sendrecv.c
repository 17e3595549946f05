// SPDX-License-Identifier: Apache-2.0
// MPI_Sendrecv and MPI_Sendrecv_replace on a ring, with different types at both ends.
// ranks: 1 2 3 4 8
#include "check.h"

static void ring(int bytes) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Status status;
  fill(out, (size_t)bytes, (unsigned)rank);
  OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, 10 + rank, in, bytes, MPI_BYTE, left, 10 + left,
                  MPI_COMM_WORLD, &status));
  check_status(&status, left, 10 + left, MPI_BYTE, bytes);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)left);
  OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, right, 5, left, 5, MPI_COMM_WORLD, &status));
  check_status(&status, left, 5, MPI_BYTE, bytes);
  CHECK_FILLED(out, (size_t)bytes, (unsigned)left);
  free(out);
  free(in);
}

static void replace_with_holes(int blocks) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Datatype every_other;
  OK(MPI_Type_vector(blocks, 1, 2, MPI_INT, &every_other));
  OK(MPI_Type_commit(&every_other));
  int* data = malloc((size_t)blocks * 2 * sizeof *data);
  for (int i = 0; i < 2 * blocks; ++i) data[i] = i % 2 ? -1 : rank * 1000000 + i;
  OK(MPI_Sendrecv_replace(data, 1, every_other, right, 6, left, 6, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
  for (int i = 0; i < 2 * blocks - 1; ++i) CHECK_EQ(data[i], i % 2 ? -1 : left * 1000000 + i);
  OK(MPI_Type_free(&every_other));
  free(data);
}

static void uneven(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int mine = 1 + rank * 50000, theirs = 1 + left * 50000;
  char *out = malloc((size_t)mine), *in = malloc(400000);
  MPI_Status status;
  fill(out, (size_t)mine, 3);
  OK(MPI_Sendrecv(out, mine, MPI_BYTE, right, 7, in, 400000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  MPI_COMM_WORLD, &status));
  check_status(&status, left, 7, MPI_BYTE, theirs);
  CHECK_FILLED(in, (size_t)theirs, 3);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int i = 0; i < kSizeCount; ++i) ring(kSizes[i]);
  replace_with_holes(10);
  replace_with_holes(5000);
  replace_with_holes(100000);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  uneven();
  return end();
}
