// SPDX-License-Identifier: Apache-2.0
// MPI_Request_free, MPI_Request_get_status, and cancelled requests.
// ranks: 1 2 3
// env: TERN_TEST=net_eager=8k
#include "check.h"

static void free_sends(void) {
  static const int sizes[] = {0, 8, 4000, 8193, 70000, 1000000};
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc(1000000), *in = malloc(1000000);
  fill(out, 1000000, (unsigned)rank);
  for (int i = 0; i < 6; ++i) {
    MPI_Request request;
    OK(MPI_Isend(out, sizes[i], MPI_BYTE, right, i, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
  }
  for (int i = 0; i < 6; ++i) {
    memset(in, 0, 1000000);
    OK(MPI_Recv(in, sizes[i], MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_FILLED(in, (size_t)sizes[i], (unsigned)left);
  }
  OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 99, NULL, 0, MPI_BYTE, right, 99, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  free(out);
  free(in);
}

static void free_receive(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  volatile int in = -1;
  MPI_Request request;
  OK(MPI_Irecv((void*)&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request));
  OK(MPI_Request_free(&request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
  OK(MPI_Sendrecv(NULL, 0, MPI_INT, right, 2, NULL, 0, MPI_INT, left, 2, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_EQ(in, left);
}

static void get_status(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1, flag = 1;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &request));
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_EQ(flag, 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD));
  for (flag = 0; !flag;) OK(MPI_Request_get_status(request, &flag, &status));
  for (int again = 0; again < 2; ++again) {
    CHECK(request != MPI_REQUEST_NULL);
    CHECK_EQ(in, left);
    check_status(&status, left, 3, MPI_INT, 1);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK_EQ(flag, 1);
  }
  OK(MPI_Wait(&request, &status));
  check_status(&status, left, 3, MPI_INT, 1);
  OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
}

static void cancel_receive(int source, int tag) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int first = -1, second = -1, cancelled = 0;
  MPI_Request requests[2];
  MPI_Status status;
  OK(MPI_Irecv(&first, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(&second, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Cancel(&requests[0]));
  OK(MPI_Wait(&requests[0], &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
  CHECK(requests[0] == MPI_REQUEST_NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 4, MPI_COMM_WORLD));
  OK(MPI_Wait(&requests[1], &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
  CHECK_EQ(first, -1);
  CHECK_EQ(second, left);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void cancel_matched(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1, flag = 0, cancelled = 1;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 5, MPI_COMM_WORLD));
  while (!flag) OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 0);
  CHECK_EQ(in, left);
}

static void cancel_send(MPI_Comm comm) {
  static char data[300000];
  static const int sizes[] = {65281, 300000, 8};
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1;
    if (sizes[i] > 8)
      OK(MPI_Isend(data, sizes[i], MPI_BYTE, right, 7, comm, &request));
    else
      OK(MPI_Issend(data, sizes[i], MPI_BYTE, right, 7, comm, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 1);
  }
  OK(MPI_Barrier(comm));
  int found = 1;
  OK(MPI_Iprobe(left, 7, comm, &found, MPI_STATUS_IGNORE));
  CHECK_EQ(found, 0);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  free_sends();
  free_receive();
  get_status();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int left = (rank + size - 1) % size;
  cancel_receive(left, 4);
  cancel_send(MPI_COMM_WORLD);
  cancel_receive(MPI_ANY_SOURCE, 4);
  cancel_receive(left, MPI_ANY_TAG);
  cancel_receive(MPI_ANY_SOURCE, MPI_ANY_TAG);
  cancel_matched();
  return end();
}
