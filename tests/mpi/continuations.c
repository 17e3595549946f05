// SPDX-License-Identifier: Apache-2.0
// MPIX_Continue and MPIX_Continueall: a callback runs once, in a thread that waits for or tests the
// continuation request.
//
// ranks: 1 2 4
// cflags: -pthread
#include <mpix.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum { kMany = 300, kLarge = 200000 };

static MPI_Request all;
static int calls, last_rc, right, left;
static char last_text[MPI_MAX_ERROR_STRING + 1];
static int out[kLarge], in[kMany], large[kLarge];

static int count_call(int rc, void* data) {
  CHECK_EQ(rc, MPI_SUCCESS);
  CHECK(data == &calls);
  ++calls;
  return MPI_SUCCESS;
}

static void ring(int* to, int count, MPI_Request* requests) {
  OK(MPI_Irecv(to, count, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out, count, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]));
}

static void sets(int flags) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  calls = 0;
  OK(MPIX_Continue_init(0, flags, MPI_INFO_NULL, &all));
  OK(MPI_Start(&all));
  ring(large, kLarge, requests);
  requests[2] = MPI_REQUEST_NULL;
  OK(MPIX_Continueall(3, requests, count_call, &calls, 0, statuses, all));
  for (int i = 0; i < 3; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  CHECK_EQ(calls, 1);
  CHECK_EQ(statuses[0].MPI_SOURCE, left);
  CHECK_EQ(statuses[0].MPI_TAG, 1);
  int count = 0;
  OK(MPI_Get_count(&statuses[0], MPI_INT, &count));
  CHECK_EQ(count, kLarge);
  OK(MPI_Start(&all));
  ring(in, 1, requests);
  for (int i = 0; i < 2; ++i)
    OK(MPIX_Continue(&requests[i], count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  OK(MPI_Waitall(1, &all, MPI_STATUSES_IGNORE));
  CHECK_EQ(calls, 3);
  CHECK_EQ(in[0], left);
  MPI_Request barrier;
  int flag = 0;
  OK(MPI_Start(&all));
  OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
  OK(MPIX_Continue(&barrier, count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  while (!flag) OK(MPI_Test(&all, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(calls, 4);
  OK(MPI_Request_free(&all));
}

static void at_once(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  int flag = 0;
  calls = 0;
  OK(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &all));
  OK(MPIX_Continue(&none, count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  CHECK_EQ(calls, 0);
  OK(MPI_Start(&all));
  OK(MPIX_Continue(&none, count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  CHECK_EQ(calls, 1);
  OK(MPIX_Continue(&none, count_call, &calls, MPIX_CONT_DEFER_COMPLETE, MPI_STATUS_IGNORE, all));
  CHECK_EQ(calls, 1);
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  CHECK_EQ(calls, 3);
  OK(MPI_Start(&all));
  OK(MPI_Test(&all, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 1);
  OK(MPI_Request_free(&all));
  OK(MPIX_Continue_init(2, MPIX_CONT_POLL_ONLY, MPI_INFO_NULL, &all));
  OK(MPI_Start(&all));
  calls = 0;
  for (int i = 0; i < 5; ++i)
    OK(MPIX_Continueall(0, NULL, count_call, &calls, 0, MPI_STATUSES_IGNORE, all));
  CHECK_EQ(calls, 0);
  OK(MPI_Test(&all, &flag, MPI_STATUS_IGNORE));
  CHECK(calls == 2 && !flag);
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  CHECK_EQ(calls, 5);
  OK(MPI_Request_free(&all));
}

// The recursion stays flat, and the request completes last.
static int next_message(int rc, void* data) {
  CHECK_EQ(rc, MPI_SUCCESS);
  MPI_Request requests[2];
  if (++calls == kMany) return MPI_SUCCESS;
  ring(&in[calls], 1, requests);
  OK(MPIX_Continueall(2, requests, next_message, data, 0, MPI_STATUSES_IGNORE, all));
  return MPI_SUCCESS;
}

static void chain(void) {
  MPI_Request requests[2];
  calls = 0;
  OK(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &all));
  OK(MPI_Start(&all));
  ring(&in[0], 1, requests);
  OK(MPIX_Continueall(2, requests, next_message, NULL, 0, MPI_STATUSES_IGNORE, all));
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  CHECK_EQ(calls, kMany);
  OK(MPI_Request_free(&all));
}

static void among_others(void) {
  MPI_Request requests[2], both[2];
  int index = -1, done = 0;
  calls = 0;
  OK(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &all));
  OK(MPI_Start(&all));
  ring(&in[0], 1, requests);
  OK(MPIX_Continue(&requests[0], count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  both[0] = all;
  both[1] = requests[1];
  for (; done < 2; ++done) {
    OK(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE));
    CHECK(index == 0 || index == 1);
  }
  CHECK_EQ(calls, 1);
  OK(MPI_Request_free(&all));
}

static int remember(int rc, void* data) {
  (void)data;
  last_rc = rc;
  snprintf(last_text, sizeof last_text, "%s", error_text(rc));
  ++calls;
  return MPI_SUCCESS;
}
static int fails(int rc, void* data) {
  (void)rc, (void)data;
  return MPI_ERR_ACCESS;
}

static void failures(void) {
  int room = 0, count = 5, marker;
  void* data[5] = {NULL};
  MPI_Request requests[2];
  OK(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &all));
  for (int invoke = 0; invoke < 2; ++invoke) {
    calls = 0;
    OK(MPI_Start(&all));
    OK(MPI_Irecv(&room, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(out, 3, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPIX_Continueall(2, requests, remember, &marker, invoke ? MPIX_CONT_INVOKE_FAILED : 0,
                        MPI_STATUSES_IGNORE, all));
    const int code = MPI_Wait(&all, MPI_STATUS_IGNORE);
    CHECK_EQ(calls, invoke);
    CHECK_EQ(class_of(code), invoke ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    if (invoke) CHECK_EQ(class_of(last_rc), MPI_ERR_TRUNCATE);
    if (invoke) CHECK(strstr(last_text, "12 bytes") != NULL);
    count = 5;
    OK(MPIX_Continue_get_failed(all, &count, data));
    CHECK_EQ(count, invoke ? 0 : 1);
    if (!invoke) CHECK(data[0] == &marker);
  }
  OK(MPI_Start(&all));
  OK(MPIX_Continueall(0, NULL, fails, NULL, 0, MPI_STATUSES_IGNORE, all));
  FAILS(MPI_Wait(&all, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  requests[0] = all;
  FAILS(MPIX_Continue(requests, NULL, NULL, 0, MPI_STATUS_IGNORE, all), MPI_ERR_ARG);
  FAILS(MPIX_Continueall(-1, requests, remember, NULL, 0, MPI_STATUSES_IGNORE, all), MPI_ERR_COUNT);
  OK(MPI_Start(&all));
  FAILS(MPIX_Continue(requests, remember, NULL, 0, MPI_STATUS_IGNORE, all), MPI_ERR_REQUEST);
  FAILS(MPIX_Continue(requests, remember, NULL, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL),
        MPI_ERR_REQUEST);
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&all));
  FAILS(MPIX_Continue_init(0, 64, MPI_INFO_NULL, &all), MPI_ERR_ARG);
}

static MPI_Request first;

static void* wait_for_all(void* unused) {
  OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
  return unused;
}

static void from_other_threads(void) {
  static int values[kMany];
  const struct timespec pause = {0, 30000000};
  pthread_t thread;
  calls = 0;
  OK(MPIX_Continue_init(0, MPIX_CONT_POLL_ONLY, MPI_INFO_NULL, &all));
  OK(MPI_Start(&all));
  OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &first));
  OK(MPIX_Continue(&first, count_call, &calls, 0, MPI_STATUS_IGNORE, all));
  CHECK(pthread_create(&thread, NULL, wait_for_all, NULL) == 0);
  for (int i = 0; i < 100; ++i) {
    MPI_Request requests[2];
    if (i % 50 == 0) nanosleep(&pause, NULL);
    ring(&values[i], 1, requests);
    OK(MPIX_Continueall(2, requests, count_call, &calls, 0, MPI_STATUSES_IGNORE, all));
  }
  nanosleep(&pause, NULL);
  OK(MPI_Send(out, 1, MPI_INT, rank, 9, MPI_COMM_WORLD));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_EQ(calls, 101);
  OK(MPI_Request_free(&all));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int i = 0; i < kLarge; ++i) out[i] = rank + i;
  sets(0);
  sets(MPIX_CONT_POLL_ONLY);
  at_once();
  chain();
  among_others();
  failures();
  from_other_threads();
  return MPI_Finalize();
}
