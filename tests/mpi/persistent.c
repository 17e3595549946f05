// SPDX-License-Identifier: Apache-2.0
// Persistent requests: started many times, in every mode, with every completion call.
// ranks: 1 2 3 4
#include "check.h"

typedef int Init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void rounds(Init* init, int bytes, int ready) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request requests[2];
  OK(MPI_Recv_init(in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]));
  OK(init(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[1]));
  const MPI_Request before[2] = {requests[0], requests[1]};
  for (unsigned round = 0; round < 5; ++round) {
    MPI_Status statuses[2];
    fill(out, (size_t)bytes, (unsigned)rank + round);
    memset(in, 0x5a, (size_t)bytes);
    if (ready) {
      OK(MPI_Start(&requests[0]));
      OK(MPI_Barrier(MPI_COMM_WORLD));
      OK(MPI_Start(&requests[1]));
    } else {
      OK(MPI_Startall(2, requests));
    }
    OK(MPI_Waitall(2, requests, statuses));
    check_status(&statuses[0], left, 1, MPI_BYTE, bytes);
    CHECK_FILLED(in, (size_t)bytes, (unsigned)left + round);
    CHECK(requests[0] == before[0] && requests[1] == before[1]);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  CHECK(requests[0] == MPI_REQUEST_NULL);
  free(out);
  free(in);
}

static void inactive(void) {
  int in = 0, flag = 0;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK(request != MPI_REQUEST_NULL);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  OK(MPI_Test(&request, &flag, &status));
  CHECK_EQ(flag, 1);
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_EQ(flag, 1);
  OK(MPI_Request_free(&request));
}

// A persistent receive matches plain sends and keeps the datatype alive.
static void mixed(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in[2] = {0, 0}, index = -1;
  MPI_Datatype pair;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Recv_init(in, 1, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Type_free(&pair));
  for (int round = 0; round < 20; ++round) {
    const int out[2] = {rank, round};
    OK(MPI_Start(&requests[1]));
    OK(MPI_Send(out, 2, MPI_INT, right, round, MPI_COMM_WORLD));
    OK(MPI_Waitany(2, requests, &index, &status));
    CHECK_EQ(index, 1);
    check_status(&status, left, round, MPI_INT, 2);
    CHECK_EQ(in[0], left);
    CHECK_EQ(in[1], round);
  }
  OK(MPI_Request_free(&requests[1]));
}

static void cancel_and_free(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1, cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &request));
  OK(MPI_Start(&request));
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Start(&request));
  OK(MPI_Send(&rank, 1, MPI_INT, right, 8, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
  CHECK_EQ(in, left);
  check_status(&status, left, 8, MPI_INT, 1);
  OK(MPI_Request_free(&request));
}

static void outlives_communicator(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in[4] = {0}, out[4] = {rank, -1, rank + 1, -1};
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Request requests[2];
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Recv_init(in, 1, type, left, 1, comm, &requests[0]));
  OK(MPI_Send_init(out, 1, type, right, 1, comm, &requests[1]));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&comm));
  for (int round = 0; round < 3; ++round) {
    memset(in, 0, sizeof in);
    OK(MPI_Startall(2, requests));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(in[0], left);
    CHECK_EQ(in[1], 0);
    CHECK_EQ(in[2], left + 1);
  }
  OK(MPI_Start(&requests[0]));
  OK(MPI_Start(&requests[1]));
  OK(MPI_Request_free(&requests[1]));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&requests[0]));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static const int sizes[] = {0, 8, 48, 5000, 8192, 8193, 40000, 300000};
  for (int i = 0; i < 8; ++i) {
    rounds(MPI_Send_init, sizes[i], 0);
    rounds(MPI_Ssend_init, sizes[i], 0);
    rounds(MPI_Rsend_init, sizes[i], 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  inactive();
  mixed();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  cancel_and_free();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  outlives_communicator();
  return end();
}
