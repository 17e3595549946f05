// SPDX-License-Identifier: Apache-2.0
// The error handler of a freed communicator still runs for a failing operation.
// ranks: 2
#include "check.h"

enum When { kFreedFirst, kFailedFirst, kTimes };

static int heard;
static MPI_Comm heard_on;

static void hear(MPI_Comm* comm, int* code, ...) {
  ++heard;
  heard_on = *comm;
  CHECK_EQ(class_of(*code), MPI_ERR_TRUNCATE);
}

static MPI_Comm make(MPI_Errhandler handler) {
  MPI_Comm comm;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, handler));
  return comm;
}

static void let_fail(MPI_Request* request, MPI_Comm* comm, enum When when) {
  int failed = 0;
  if (when == kFreedFirst) OK(MPI_Comm_free(comm));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  while (when == kFailedFirst && !failed)
    OK(MPI_Request_get_status(*request, &failed, MPI_STATUS_IGNORE));
  if (when == kFailedFirst) OK(MPI_Comm_free(comm));
}

static void receive(int ints, int room, enum When when, MPI_Errhandler handler) {
  MPI_Comm comm = make(handler);
  int* data = calloc((size_t)ints, sizeof(int));
  if (rank == 0) {
    MPI_Request request;
    OK(MPI_Irecv(data, room, MPI_INT, 1, 1, comm, &request));
    let_fail(&request, &comm, when);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(data, ints, MPI_INT, 0, 1, comm));
    OK(MPI_Comm_free(&comm));
  }
  free(data);
}

static void several(enum When when) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int data[4] = {0};
  if (rank == 0) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(data, 1, MPI_INT, 1, 1, comm, &requests[0]));
    OK(MPI_Irecv(data + 2, 1, MPI_INT, 1, 1, comm, &requests[1]));
    let_fail(&requests[1], &comm, when);
    FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    for (int i = 0; i < 2; ++i) CHECK_EQ(class_of(statuses[i].MPI_ERROR), MPI_ERR_TRUNCATE);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; ++i) OK(MPI_Send(data, 2, MPI_INT, 0, 1, comm));
    OK(MPI_Comm_free(&comm));
  }
}

static void released_unread(void) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int data[2] = {0};
  if (rank == 0) {
    MPI_Request request;
    OK(MPI_Irecv(data, 1, MPI_INT, 1, 1, comm, &request));
    let_fail(&request, &comm, kFailedFirst);
    OK(MPI_Request_free(&request));
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(data, 2, MPI_INT, 0, 1, comm));
    OK(MPI_Comm_free(&comm));
  }
}

static void both_ways(enum When when) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int out[2] = {0}, in[2];
  MPI_Request request;
  if (rank == 0) {
    OK(MPI_Isendrecv(out, 1, MPI_INT, 1, 1, in, 1, MPI_INT, 1, 1, comm, &request));
    let_fail(&request, &comm, when);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Sendrecv(out, 2, MPI_INT, 0, 1, in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
  }
}

static void collective(enum When when) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int data[4] = {0};
  MPI_Request request;
  if (rank == 0) {
    OK(MPI_Ibcast(data, 1, MPI_INT, 1, comm, &request));
    let_fail(&request, &comm, when);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Ibcast(data, 4, MPI_INT, 1, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
  }
}

static void persistent(enum When when) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int data[2] = {0};
  if (rank == 0) {
    MPI_Request request;
    OK(MPI_Recv_init(data, 1, MPI_INT, 1, 1, comm, &request));
    OK(MPI_Start(&request));
    let_fail(&request, &comm, when);
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    OK(MPI_Request_free(&request));
  } else {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(data, 2, MPI_INT, 0, 1, comm));
    OK(MPI_Comm_free(&comm));
  }
}

static void partitioned(enum When when) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int data[4] = {0};
  MPI_Request request;
  if (rank == 0) {
    OK(MPI_Precv_init(data, 1, 1, MPI_INT, 1, 1, comm, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    let_fail(&request, &comm, when);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  } else {
    OK(MPI_Psend_init(data, 2, 2, MPI_INT, 0, 1, comm, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    OK(MPI_Pready_range(0, 1, request));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
    OK(MPI_Comm_free(&comm));
  }
  OK(MPI_Request_free(&request));
}

static void matched(int ints, int freed, int immediate) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  int* data = calloc((size_t)ints, sizeof(int));
  if (rank == 0) {
    MPI_Message message;
    MPI_Request request;
    OK(MPI_Mprobe(1, 1, comm, &message, MPI_STATUS_IGNORE));
    if (freed) OK(MPI_Comm_free(&comm));
    if (immediate) {
      OK(MPI_Imrecv(data, 1, MPI_INT, &message, &request));
      FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    } else {
      FAILS(MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    }
    CHECK(message == MPI_MESSAGE_NULL);
    if (!freed) OK(MPI_Comm_free(&comm));
  } else {
    OK(MPI_Send(data, ints, MPI_INT, 0, 1, comm));
    OK(MPI_Comm_free(&comm));
  }
  free(data);
}

static void buffered(void) {
  MPI_Comm comm = make(MPI_ERRORS_RETURN);
  static char room[4096];
  int data = 7 + rank, in = 0;
  MPI_Request requests[2];
  OK(MPI_Buffer_attach(room, sizeof room));
  OK(MPI_Bsend_init(&data, 1, MPI_INT, 1 - rank, 1, comm, &requests[0]));
  OK(MPI_Ibsend(&data, 1, MPI_INT, 1 - rank, 1, comm, &requests[1]));
  OK(MPI_Recv(&in, 1, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE));
  MPI_Request receive;
  OK(MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 1, comm, &receive));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Start(&requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 8 - rank);
  OK(MPI_Request_free(&requests[0]));
  void* detached;
  int bytes;
  OK(MPI_Buffer_detach(&detached, &bytes));
}

static void own_handler(enum When when) {
  MPI_Errhandler handler;
  OK(MPI_Comm_create_errhandler(hear, &handler));
  heard = 0;
  receive(2, 1, when, handler);
  OK(MPI_Errhandler_free(&handler));
  if (rank == 0) CHECK_EQ(heard, 1);
  if (rank == 0) CHECK(heard_on == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (enum When when = 0; when < kTimes; ++when) {
    receive(2, 1, when, MPI_ERRORS_RETURN);
    receive(300000, 1000, when, MPI_ERRORS_RETURN);
    several(when);
    both_ways(when);
    collective(when);
    persistent(when);
    partitioned(when);
    own_handler(when);
  }
  released_unread();
  for (int freed = 0; freed < 2; ++freed)
    for (int immediate = 0; immediate < 2; ++immediate) {
      matched(2, freed, immediate);
      matched(300000, freed, immediate);
    }
  buffered();
  return end();
}
