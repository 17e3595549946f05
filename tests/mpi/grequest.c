// SPDX-License-Identifier: Apache-2.0
// Generalised requests: query, free, cancel, completion by another thread, and
// MPI_Request_get_status without side effects.
// ranks: 1 2
// cflags: -pthread
#include <pthread.h>
#include <unistd.h>

#include "check.h"

struct Seen {
  int queries, frees, cancels, was_complete;
};

static int query(void* state, MPI_Status* status) {
  ++((struct Seen*)state)->queries;
  MPI_Status_set_elements(status, MPI_INT, 11);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 5;
  status->MPI_TAG = 6;
  return MPI_SUCCESS;
}
static int release(void* state) {
  ++((struct Seen*)state)->frees;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  ++((struct Seen*)state)->cancels;
  ((struct Seen*)state)->was_complete = complete;
  return MPI_SUCCESS;
}

static void* complete_late(void* request) {
  usleep(100000);
  OK(MPI_Grequest_complete(*(MPI_Request*)request));
  return NULL;
}

static void waited_for(void) {
  struct Seen seen = {0, 0, 0, 0};
  MPI_Request request, copy;
  MPI_Status status;
  int flag = 1, count;
  pthread_t thread;
  OK(MPI_Grequest_start(query, release, cancel, &seen, &request));
  OK(MPI_Test(&request, &flag, &status));
  CHECK_EQ(flag, 0);
  OK(MPI_Cancel(&request));
  CHECK_EQ(seen.cancels, 1);
  CHECK_EQ(seen.was_complete, 0);
  copy = request;
  pthread_create(&thread, NULL, complete_late, &copy);
  OK(MPI_Wait(&request, &status));
  pthread_join(thread, NULL);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_EQ(seen.queries, 1);
  CHECK_EQ(seen.frees, 1);
  CHECK_EQ(status.MPI_SOURCE, 5);
  CHECK_EQ(status.MPI_TAG, 6);
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 11);
}

static void freed_before_complete(void) {
  struct Seen seen = {0, 0, 0, 0};
  MPI_Request request, copy;
  OK(MPI_Grequest_start(query, release, cancel, &seen, &request));
  copy = request;
  OK(MPI_Request_free(&request));
  CHECK_EQ(seen.frees, 0);
  OK(MPI_Grequest_complete(copy));
  CHECK_EQ(seen.queries, 0);
  CHECK_EQ(seen.frees, 1);
  FAILS(MPI_Grequest_complete(copy), MPI_ERR_REQUEST);
}

static int fail_to_answer(void* state, MPI_Status* status) {
  query(state, status);
  return MPI_ERR_OTHER;
}

static int fail_to_release(void* state) {
  release(state);
  return MPI_ERR_IO;
}
static int fail_to_cancel(void* state, int complete) {
  cancel(state, complete);
  return MPI_ERR_NAME;
}

// A callback's code returns from the MPI call. Of two codes, the later wins.
static void codes(void) {
  struct Seen seen = {0, 0, 0, 0};
  MPI_Request request;
  OK(MPI_Grequest_start(fail_to_answer, fail_to_release, fail_to_cancel, &seen, &request));
  FAILS(MPI_Cancel(&request), MPI_ERR_NAME);
  OK(MPI_Grequest_complete(request));
  FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
  OK(MPI_Grequest_start(query, fail_to_release, cancel, &seen, &request));
  OK(MPI_Grequest_complete(request));
  FAILS(MPI_Request_free(&request), MPI_ERR_IO);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(seen.queries == 1 && seen.frees == 2 && seen.cancels == 1);
}

static void failing(void) {
  struct Seen seen = {0, 0, 0, 0};
  int value = 0, some, indices[3];
  MPI_Request requests[3];
  MPI_Status statuses[3];
  for (int all = 0; all < 2; ++all) {
    for (int i = 0; i < 3; ++i) statuses[i].MPI_ERROR = -9;
    OK(MPI_Isend(&value, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Grequest_start(fail_to_answer, release, cancel, &seen, &requests[1]));
    OK(MPI_Isend(&value, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]));
    OK(MPI_Grequest_complete(requests[1]));
    if (all)
      FAILS(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
    else
      FAILS(MPI_Waitsome(3, requests, &some, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_ERR_OTHER);
    CHECK_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
    for (int i = 0; i < 3; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  statuses[0].MPI_ERROR = -9;
  OK(MPI_Grequest_start(fail_to_answer, release, cancel, &seen, &requests[0]));
  OK(MPI_Grequest_complete(requests[0]));
  FAILS(MPI_Wait(&requests[0], &statuses[0]), MPI_ERR_OTHER);
  CHECK_EQ(statuses[0].MPI_ERROR, -9);  // single calls leave the field alone
  CHECK_EQ(seen.frees, 3);
}

static void looked_at(void) {
  struct Seen seen = {0, 0, 0, 0};
  int x = 0, y = 7, flag = 1, index = 0, outcount = 0, indices[3];
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  CHECK(flag == 1 && index == MPI_UNDEFINED);
  OK(MPI_Request_get_status_some(3, requests, &outcount, indices, statuses));
  CHECK_EQ(outcount, MPI_UNDEFINED);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 1);
  OK(MPI_Grequest_start(query, release, cancel, &seen, &requests[0]));
  OK(MPI_Irecv(&x, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[2]));
  OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  CHECK_EQ(flag, 0);
  OK(MPI_Send(&y, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
  do OK(MPI_Request_get_status_any(3, requests, &index, &flag, statuses));
  while (!flag);
  CHECK_EQ(index, 2);
  CHECK_EQ(statuses[0].MPI_SOURCE, rank);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 0);
  OK(MPI_Grequest_complete(requests[0]));
  OK(MPI_Request_get_status_some(3, requests, &outcount, indices, statuses));
  CHECK_EQ(outcount, 2);
  CHECK(indices[0] == 0 && indices[1] == 2);
  OK(MPI_Request_get_status_all(3, requests, &flag, statuses));
  CHECK_EQ(flag, 1);
  CHECK_EQ(statuses[0].MPI_SOURCE, 5);
  CHECK(requests[0] != MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
  CHECK_EQ(seen.frees, 0);
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(seen.frees, 1);
  CHECK_EQ(x, 7);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  waited_for();
  freed_before_complete();
  failing();
  codes();
  looked_at();
  MPI_Request other;
  int x;
  OK(MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &other));
  FAILS(MPI_Grequest_complete(other), MPI_ERR_REQUEST);
  OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
  MPI_Finalize();
  return 0;
}
