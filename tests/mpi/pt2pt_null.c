// SPDX-License-Identifier: Apache-2.0
// MPI_PROC_NULL: every operation completes at once with the empty status.
// ranks: 1 2
#include "check.h"

#define CHECK_NULL(status) check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_INT, 0)

static void blocking(int* value, MPI_Status* status) {
  OK(MPI_Send(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Ssend(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Rsend(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Recv(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status));
  CHECK_NULL(status);
  OK(MPI_Recv(value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, status));
  CHECK_NULL(status);
  int flag = 0;
  OK(MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, status));
  CHECK_EQ(flag, 1);
  CHECK_NULL(status);
  OK(MPI_Sendrecv_replace(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                          status));
  CHECK_NULL(status);
}

static void nonblocking(int* value, MPI_Status* status) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  OK(MPI_Isend(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Issend(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Irsend(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Irecv(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[3]));
  for (int i = 0; i < 4; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
  OK(MPI_Waitall(4, requests, statuses));
  CHECK_NULL(&statuses[3]);
  OK(MPI_Recv_init(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Send_init(value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Startall(2, requests));
    OK(MPI_Wait(&requests[0], status));
    CHECK_NULL(status);
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

static void line(MPI_Status* status) {
  const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int in = -5;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 2, &in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, status));
  CHECK_EQ(in, left == MPI_PROC_NULL ? -5 : left);
  if (left == MPI_PROC_NULL)
    CHECK_NULL(status);
  else
    check_status(status, left, 2, MPI_INT, 1);
}

// As in MPICH and Open MPI, a null datatype is no error.
static void no_type(MPI_Status* status) {
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  MPI_Request requests[4];
  OK(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
  OK(MPI_Recv(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status));
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, MPI_INT, 0);
  OK(MPI_Sendrecv(NULL, 0, none, MPI_PROC_NULL, 1, NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                  status));
  OK(MPI_Sendrecv_replace(NULL, 0, none, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                          status));
  OK(MPI_Isend(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Irecv(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Send_init(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Recv_init(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[3]));
  OK(MPI_Startall(2, &requests[2]));
  OK(MPI_Cancel(&requests[0]));
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Request_free(&requests[2]));
  OK(MPI_Request_free(&requests[3]));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Send(NULL, 1, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
  FAILS(MPI_Send(NULL, 0, none, rank, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
  FAILS(MPI_Recv(NULL, 0, none, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status), MPI_ERR_TYPE);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int value = 42;
  MPI_Status status;
  blocking(&value, &status);
  nonblocking(&value, &status);
  line(&status);
  no_type(&status);
  CHECK_EQ(value, 42);
  return end();
}
