// SPDX-License-Identifier: Apache-2.0
// A session with one thread, then MPI_THREAD_MULTIPLE: threads may use the communicators of both
// concurrently.
// ranks: 2 3
// timeout: 60
// cflags: -pthread
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 2000 };

static MPI_Comm comms[kThreads];

static void* exchange(void* argument) {
  const int me = (int)(long)argument;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    const int out[2] = {me, round};
    int in[2] = {-1, -1}, sum = 0;
    MPI_Request requests[2];
    OK(MPI_Irecv(in, 2, MPI_INT, left, me, comms[me % 2], &requests[0]));
    OK(MPI_Isend(out, 2, MPI_INT, right, me, comms[me % 2], &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == me && in[1] == round);
    if (round % 50 == 0) {
      OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comms[me]));
      CHECK_EQ(sum, size * me);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Session session;
  MPI_Info info;
  MPI_Group group;
  int provided = -1;
  pthread_t threads[kThreads];
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Info_free(&info));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "before", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comms[0]));
  OK(MPI_Group_free(&group));
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Query_thread(&provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  for (int i = 1; i < kThreads; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  for (long i = 0; i < kThreads; ++i)
    CHECK(pthread_create(&threads[i], NULL, exchange, (void*)i) == 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) OK(MPI_Comm_free(&comms[i]));
  OK(MPI_Session_finalize(&session));
  return end();
}
