// SPDX-License-Identifier: Apache-2.0
// MPI_Isendrecv and MPI_Isendrecv_replace: one request, with the status of the receive.
// ranks: 1 2 3 4
#include "check.h"

static void ring(int bytes, int replace) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  unsigned char* out = malloc((size_t)bytes + 1);
  unsigned char* in = malloc((size_t)bytes + 1);
  fill(out, (size_t)bytes, (unsigned)rank);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  if (replace) {
    memcpy(in, out, (size_t)bytes);
    OK(MPI_Isendrecv_replace(in, bytes, MPI_BYTE, right, 3, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                             &requests[0]));
  } else {
    OK(MPI_Isendrecv(out, bytes, MPI_BYTE, right, 3, in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 3,
                     MPI_COMM_WORLD, &requests[0]));
  }
  OK(MPI_Isendrecv(&rank, 1, MPI_INT, MPI_PROC_NULL, 1, &size, 1, MPI_INT, MPI_PROC_NULL, 1,
                   MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  int count;
  OK(MPI_Get_count(&statuses[0], MPI_BYTE, &count));
  CHECK_EQ(count, bytes);
  CHECK_EQ(statuses[0].MPI_SOURCE, left);
  CHECK_EQ(statuses[0].MPI_TAG, 3);
  CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  CHECK_FILLED(in, (size_t)bytes, (unsigned)left);
  free(out);
  free(in);
}

static void truncated(void) {
  int out[2] = {1, 2}, in = 0;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request request;
  OK(MPI_Isendrecv(out, 2, MPI_INT, right, 4, &in, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK_EQ(in, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int bytes = 0; bytes < 400000; bytes = bytes * 5 + 1)
    for (int replace = 0; replace < 2; ++replace) ring(bytes, replace);
  truncated();
  return end();
}
