// SPDX-License-Identifier: Apache-2.0
// Waitany, waitsome, waitall and tests: indices, statuses, null and inactive requests.
// ranks: 1 2 3
#include "check.h"

enum { kRequests = 32 };

static int in[kRequests], out[kRequests], right, left;
static MPI_Request requests[kRequests], sends[kRequests];

static void start(void) {
  for (int i = 0; i < kRequests; ++i) {
    in[i] = -1;
    out[i] = rank * 100 + i;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void send_from(int first, int last) {
  for (int i = first; i < last; ++i)
    OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]));
}

static void finish(void) {
  OK(MPI_Waitall(kRequests, sends, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kRequests; ++i) {
    CHECK_EQ(in[i], left * 100 + i);
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void check_one(int index, const MPI_Status* status) {
  CHECK(index >= 0 && index < kRequests);
  check_status(status, left, index, MPI_INT, 1);
  CHECK_EQ(in[index], left * 100 + index);
  CHECK(requests[index] == MPI_REQUEST_NULL);
}

static void with_any(int test) {
  start();
  send_from(0, kRequests);
  for (int done = 0; done < kRequests; ++done) {
    int index = -7, flag = 1;
    MPI_Status status;
    if (!test) OK(MPI_Waitany(kRequests, requests, &index, &status));
    for (flag = !test; !flag;) {
      OK(MPI_Testany(kRequests, requests, &index, &flag, &status));
      if (!flag) CHECK_EQ(index, MPI_UNDEFINED);
    }
    check_one(index, &status);
  }
  finish();
}

static void with_some(int test) {
  start();
  send_from(0, 4);
  for (int done = 0; done < kRequests;) {
    int indices[kRequests], count = -7;
    MPI_Status statuses[kRequests];
    if (test)
      OK(MPI_Testsome(kRequests, requests, &count, indices, statuses));
    else
      OK(MPI_Waitsome(kRequests, requests, &count, indices, statuses));
    CHECK(test ? count >= 0 : count > 0);
    for (int i = 0; i < count; ++i) check_one(indices[i], &statuses[i]);
    if (count > 0 && done < 4 && done + count >= 4) send_from(4, kRequests);
    done += count;
  }
  finish();
}

static void with_all(void) {
  MPI_Status statuses[kRequests];
  int flag = 1;
  start();
  OK(MPI_Testall(kRequests, requests, &flag, statuses));
  CHECK_EQ(flag, 0);
  for (int i = 0; i < kRequests; ++i) CHECK(requests[i] != MPI_REQUEST_NULL);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  send_from(0, kRequests);
  for (flag = 0; !flag;) OK(MPI_Testall(kRequests, requests, &flag, statuses));
  for (int i = 0; i < kRequests; ++i) check_one(i, &statuses[i]);
  finish();
}

static void check_empty(MPI_Status* status) {
  int count = -1, cancelled = -1;
  CHECK_EQ(status->MPI_ERROR, MPI_SUCCESS);
  status->MPI_ERROR = MPI_ERR_OTHER;
  CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
  OK(MPI_Get_count(status, MPI_INT, &count));
  CHECK_EQ(count, 0);
  OK(MPI_Test_cancelled(status, &cancelled));
  CHECK_EQ(cancelled, 0);
}

static void with_nothing(int count, MPI_Request* null) {
  MPI_Status statuses[4];
  int index = 0, flag = 0, outcount = 0, indices[4];
  for (int i = 0; i < 4; ++i) statuses[i].MPI_ERROR = MPI_ERR_OTHER;
  OK(MPI_Waitany(count, null, &index, &statuses[0]));
  CHECK_EQ(index, MPI_UNDEFINED);
  check_empty(&statuses[0]);
  OK(MPI_Testany(count, null, &index, &flag, &statuses[0]));
  CHECK_EQ(index, MPI_UNDEFINED);
  CHECK_EQ(flag, 1);
  check_empty(&statuses[0]);
  OK(MPI_Waitsome(count, null, &outcount, indices, statuses));
  CHECK_EQ(outcount, MPI_UNDEFINED);
  OK(MPI_Testsome(count, null, &outcount, indices, statuses));
  CHECK_EQ(outcount, MPI_UNDEFINED);
  OK(MPI_Waitall(count, null, statuses));
  flag = 0;
  OK(MPI_Testall(count, null, &flag, statuses));
  CHECK_EQ(flag, 1);
  for (int i = 0; i < count; ++i) check_empty(&statuses[i]);
  if (count == 0) return;
  OK(MPI_Wait(&null[0], &statuses[0]));
  check_empty(&statuses[0]);
  flag = 0;
  OK(MPI_Test(&null[0], &flag, &statuses[0]));
  CHECK_EQ(flag, 1);
  check_empty(&statuses[0]);
  OK(MPI_Request_get_status(null[0], &flag, &statuses[0]));
  check_empty(&statuses[0]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  for (int test = 0; test < 2; ++test) {
    with_any(test);
    with_some(test);
  }
  with_all();
  MPI_Request null[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  with_nothing(4, null);
  with_nothing(0, null);
  OK(MPI_Recv_init(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &null[2]));
  with_nothing(4, null);
  OK(MPI_Request_free(&null[2]));
  return end();
}
