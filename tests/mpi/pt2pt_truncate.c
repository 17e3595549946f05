// SPDX-License-Identifier: Apache-2.0
// A message longer than the receive buffer is an error: the buffer gets the first bytes, and other
// messages are unaffected.
// ranks: 1 2
#include "check.h"

static void check_kept(const char* in, int room, unsigned seed) {
  CHECK_FILLED(in, (size_t)room, seed);
  CHECK(untouched(in, (size_t)room, (size_t)room + 64, 0x5a));
}

static void shift(int bytes, int room, int early) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes), *in = malloc((size_t)room + 64);
  MPI_Request sending, receiving = MPI_REQUEST_NULL;
  fill(out, (size_t)bytes, (unsigned)rank);
  memset(in, 0x5a, (size_t)room + 64);
  MPI_Status status;
  if (early) OK(MPI_Irecv(in, room, MPI_BYTE, left, 3, MPI_COMM_WORLD, &receiving));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right, 3, MPI_COMM_WORLD, &sending));
  if (early)
    FAILS(MPI_Wait(&receiving, &status), MPI_ERR_TRUNCATE);
  else
    FAILS(MPI_Recv(in, room, MPI_BYTE, left, 3, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  CHECK(receiving == MPI_REQUEST_NULL);
  CHECK_EQ(status.MPI_SOURCE, left);
  CHECK_EQ(status.MPI_TAG, 3);
  check_kept(in, room, (unsigned)left);
  in = realloc(in, (size_t)bytes);
  OK(MPI_Isend(out, bytes, MPI_BYTE, right, 4, MPI_COMM_WORLD, &sending));
  OK(MPI_Recv(in, bytes, MPI_BYTE, left, 4, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  CHECK_FILLED(in, (size_t)bytes, (unsigned)left);
  free(in);
  free(out);
}

static void in_status(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
  MPI_Request requests[6];
  MPI_Status statuses[6];
  for (int i = 0; i < 3; ++i)
    OK(MPI_Irecv(&in[i], i == 1 ? 0 : 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[3 + i]));
  FAILS(MPI_Waitall(6, requests, statuses), MPI_ERR_IN_STATUS);
  for (int i = 0; i < 6; ++i) {
    if (statuses[i].MPI_ERROR == MPI_ERR_PENDING)
      statuses[i].MPI_ERROR = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK_EQ(class_of(statuses[i].MPI_ERROR), i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  CHECK_EQ(in[0], 1);
  CHECK_EQ(in[1], 0);
  CHECK_EQ(in[2], 3);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  static const int pairs[][2] = {
      {1, 0},       {48, 47},           {100, 10},      {8192, 8191},   {8193, 8192},
      {20000, 100}, {20000, 19999},     {65536, 0},     {65536, 33333}, {400000, 32769},
      {400000, 1},  {4194305, 4194304}, {4194305, 4097}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i)
    for (int early = 0; early < 2; ++early) {
      if (pairs[i][0] > 8000 && !early && size == 1) continue;
      shift(pairs[i][0], pairs[i][1], early);
    }
  in_status();
  return end();
}
