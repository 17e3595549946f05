// SPDX-License-Identifier: Apache-2.0
// MPIX_Comm_interrupt ends waiting calls of another thread with an error. Later calls fail at once,
// and other communicators work.
//
// ranks: 2 3 8
// cflags: -pthread
// timeout: 120
#include <mpix.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "check.h"

enum { kLarge = 1 << 20 };

static MPI_Comm comm;
static int other;
static int in[kLarge], out[kLarge];

static atomic_int begun;
static int do_recv(void) { return MPI_Recv(in, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE); }
static int do_recv_any(void) {
  return MPI_Recv(in, kLarge, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
}
static int do_ssend(void) { return MPI_Ssend(out, 1, MPI_INT, other, 1, comm); }
static int do_send_large(void) { return MPI_Send(out, kLarge, MPI_INT, other, 1, comm); }
static int do_sendrecv(void) {
  return MPI_Sendrecv(out, 1, MPI_INT, other, 1, in, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE);
}
static int do_probe(void) { return MPI_Probe(other, 1, comm, MPI_STATUS_IGNORE); }
static int do_mprobe(void) {
  MPI_Message message;
  return MPI_Mprobe(MPI_ANY_SOURCE, 1, comm, &message, MPI_STATUS_IGNORE);
}
static int do_barrier(void) { return MPI_Barrier(comm); }
static int do_bcast(void) { return MPI_Bcast(in, 100, MPI_INT, other, comm); }
static int do_allreduce(void) { return MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm); }
static int do_allreduce_large(void) {
  return MPI_Allreduce(out, in, kLarge, MPI_INT, MPI_SUM, comm);
}
static int do_alltoall_large(void) {
  return MPI_Alltoall(out, kLarge / size, MPI_INT, in, kLarge / size, MPI_INT, comm);
}
static int do_gatherv(void) {
  int counts[64], displs[64];
  for (int r = 0; r < size; ++r) counts[r] = displs[r] = r;
  return MPI_Gatherv(out, rank, MPI_INT, in, counts, displs, MPI_INT, 0, comm);
}
static int do_split(void) {
  MPI_Comm made;
  return MPI_Comm_split(comm, rank % 2, 0, &made);
}

static int fails_at_once(int code) {
  return class_of(code) == MPI_ERR_OTHER &&
         strstr(error_text(code), "was interrupted on this rank by MPIX_Comm_interrupt") != NULL;
}

static int waited(MPI_Request request) {
  atomic_store(&begun, 1);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static int do_irecv(void) {
  MPI_Request request;
  OK(MPI_Irecv(in, kLarge, MPI_INT, other, 1, comm, &request));
  return waited(request);
}
static int do_waitall(void) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  OK(MPI_Irecv(in, 1, MPI_INT, other, 1, comm, &requests[0]));
  OK(MPI_Issend(out, 1, MPI_INT, other, 1, comm, &requests[1]));
  OK(MPI_Iallreduce(out, in + 1, 1, MPI_INT, MPI_SUM, comm, &requests[2]));
  atomic_store(&begun, 1);
  const int code = MPI_Waitall(3, requests, statuses);
  CHECK_EQ(class_of(code), MPI_ERR_IN_STATUS);
  for (int i = 0; i < 3; ++i) CHECK_EQ(class_of(statuses[i].MPI_ERROR), MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}
static int do_waitany(void) {
  MPI_Request requests[2];
  int index;
  OK(MPI_Irecv(in, 1, MPI_INT, other, 1, comm, &requests[0]));
  OK(MPI_Irecv(in, 1, MPI_INT, other, 2, comm, &requests[1]));
  atomic_store(&begun, 1);
  const int code = MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK_EQ(waited(requests[1 - index]), code);
  return code;
}
static int do_test(void) {
  MPI_Request request;
  int flag = 0, code = MPI_SUCCESS;
  OK(MPI_Irecv(in, 1, MPI_INT, other, 1, comm, &request));
  atomic_store(&begun, 1);
  while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return code;
}
static int do_ibarrier(void) {
  MPI_Request request;
  OK(MPI_Ibarrier(comm, &request));
  return waited(request);
}
static int do_iallreduce_large(void) {
  MPI_Request request;
  OK(MPI_Iallreduce(out, in, kLarge, MPI_INT, MPI_SUM, comm, &request));
  return waited(request);
}
static int do_persistent(void) {
  MPI_Request request;
  OK(MPI_Recv_init(in, 1, MPI_INT, other, 1, comm, &request));
  OK(MPI_Start(&request));
  const int code = waited(request);
  CHECK_EQ(class_of(MPI_Start(&request)), MPI_ERR_OTHER);
  OK(MPI_Request_free(&request));
  return code;
}
static int do_persistent_collective(void) {
  MPI_Request request;
  OK(MPI_Allreduce_init(out, in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  const int code = waited(request);
  CHECK_EQ(class_of(MPI_Start(&request)), MPI_ERR_OTHER);
  OK(MPI_Request_free(&request));
  return code;
}
static int do_partitioned(void) {
  MPI_Request request;
  OK(MPI_Precv_init(in, 4, 10, MPI_INT, other, 1, comm, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  const int code = waited(request);
  OK(MPI_Request_free(&request));
  return code;
}
static int do_partitioned_send(void) {
  MPI_Request request;
  OK(MPI_Psend_init(out, 2, kLarge / 2, MPI_INT, other, 1, comm, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPIX_Comm_interrupt(comm));
  for (int i = 0; i < 2; ++i) CHECK(fails_at_once(MPI_Pready(i, request)));
  const int code = waited(request);
  CHECK(fails_at_once(code));
  OK(MPI_Request_free(&request));
  return code;
}

static const struct {
  const char* name;
  int (*call)(void);
  int begins;
} cases[] = {
#define CASE(name) \
  { #name, do_##name, 0 }
#define BEGUN(name) \
  { #name, do_##name, 1 }
    CASE(recv),
    CASE(recv_any),
    CASE(ssend),
    CASE(send_large),
    CASE(sendrecv),
    CASE(probe),
    CASE(mprobe),
    CASE(barrier),
    CASE(bcast),
    CASE(allreduce),
    CASE(allreduce_large),
    CASE(alltoall_large),
    CASE(gatherv),
    CASE(split),
    BEGUN(irecv),
    BEGUN(waitall),
    BEGUN(waitany),
    BEGUN(test),
    BEGUN(ibarrier),
    BEGUN(iallreduce_large),
    BEGUN(persistent),
    BEGUN(persistent_collective),
    BEGUN(partitioned),
    BEGUN(partitioned_send),
};

static void* interrupt_later(void* pause_ms) {
  const int ms = *(const int*)pause_ms;
  const struct timespec pause = {0, ms * 1000000L};
  while (!atomic_load(&begun)) sched_yield();
  nanosleep(&pause, NULL);
  OK(MPIX_Comm_interrupt(comm));
  return NULL;
}

static void check_later_calls(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  int flag, found = -1;
  CHECK(fails_at_once(MPI_Send(out, 1, MPI_INT, other, 1, comm)));
  CHECK(fails_at_once(MPI_Isend(out, kLarge, MPI_INT, other, 1, comm, &request)));
  CHECK(fails_at_once(MPI_Issend(out, 1, MPI_INT, other, 1, comm, &request)));
  CHECK(fails_at_once(MPI_Recv(in, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE)));
  CHECK(fails_at_once(MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request)));
  CHECK(fails_at_once(MPI_Recv_init(in, 1, MPI_INT, other, 1, comm, &request)));
  CHECK(fails_at_once(MPI_Send_init(in, 1, MPI_INT, other, 1, comm, &request)));
  CHECK(fails_at_once(MPI_Probe(other, 1, comm, MPI_STATUS_IGNORE)));
  CHECK(fails_at_once(MPI_Iprobe(other, 1, comm, &flag, MPI_STATUS_IGNORE)));
  CHECK(fails_at_once(MPI_Improbe(other, 1, comm, &flag, &message, MPI_STATUS_IGNORE)));
  CHECK(fails_at_once(MPI_Barrier(comm)));
  CHECK(fails_at_once(MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm)));
  CHECK(fails_at_once(MPI_Allreduce(out, in, kLarge, MPI_INT, MPI_SUM, comm)));
  CHECK(fails_at_once(MPI_Ibarrier(comm, &request)));
  CHECK(fails_at_once(MPI_Barrier_init(comm, MPI_INFO_NULL, &request)));
  OK(MPIX_Comm_interrupt(comm));
  OK(MPI_Comm_size(comm, &found));
  CHECK_EQ(found, size);
}

static void check_world(void) {
  int sum = 0, from = -1;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &from, 1, MPI_INT,
                  (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(from, (rank + size - 1) % size);
}

static void one_case(size_t number, int used) {
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  if (used) {
    MPI_Request request;
    OK(MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm));
    OK(MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(out, in, kLarge, MPI_INT, MPI_SUM, comm));
  }
  if (rank == 0) {
    pthread_t thread;
    int pause_ms = 2 + 30 * (number % 2 == 0);
    atomic_store(&begun, !cases[number].begins);
    CHECK(pthread_create(&thread, NULL, interrupt_later, &pause_ms) == 0);
    const int code = cases[number].call();
    if (class_of(code) != MPI_ERR_OTHER)
      FAIL("%s gives class %d (%s)", cases[number].name, class_of(code), error_text(code));
    CHECK(pthread_join(thread, NULL) == 0);
    check_later_calls();
  }
  check_world();
  OK(MPI_Comm_free(&comm));
}

static void in_traffic(int seed) {
  pthread_t thread;
  int pause_ms = (seed * 7 + rank * 3) % 12, code = MPI_SUCCESS;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  atomic_store(&begun, 1);
  CHECK(pthread_create(&thread, NULL, interrupt_later, &pause_ms) == 0);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; code == MPI_SUCCESS; ++round) {
    const int count = round % 3 == 0 ? kLarge : round % 3 == 1 ? 1 : 4000;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (round % 4 == 3)
      code = MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
    else if ((code = MPI_Irecv(in, count, MPI_INT, left, 1, comm, &requests[0])) == MPI_SUCCESS) {
      int codes[2] = {MPI_SUCCESS, MPI_Isend(out, count, MPI_INT, right, 1, comm, &requests[1])};
      if (codes[1] != MPI_SUCCESS) requests[1] = MPI_REQUEST_NULL;
      code = MPI_Waitall(2, requests, statuses);
      if (code == MPI_SUCCESS) code = codes[1];
    }
  }
  CHECK(class_of(code) == MPI_ERR_OTHER || class_of(code) == MPI_ERR_IN_STATUS);
  CHECK(pthread_join(thread, NULL) == 0);
  OK(MPI_Comm_free(&comm));
  check_world();
}

int main(int argc, char** argv) {
  int provided, rounds = argc > 1 ? atoi(argv[1]) : 20;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  other = size - 1;
  CHECK_EQ(class_of(MPIX_Comm_interrupt(MPI_COMM_NULL)), MPI_ERR_COMM);
  for (int used = 0; used < 2; ++used)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) one_case(i, used);
  for (int seed = 0; seed < rounds; ++seed) in_traffic(seed);
  return MPI_Finalize();
}
