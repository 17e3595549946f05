// SPDX-License-Identifier: Apache-2.0
// Jobs of forked processes without a launcher, connected by MPIX_Boot_provide.
#ifndef TERN_TESTS_BOOT_H
#define TERN_TESTS_BOOT_H

#include <mpix.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static UNUSED void sleep_ms(int ms) {
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&pause, NULL);
}

static UNUSED void fork_ranks(int count, void (*body)(int rank, int count), int* statuses) {
  pid_t children[64];
  fflush(NULL);
  for (int r = 0; r < count; ++r) {
    children[r] = fork();
    if (children[r] != 0) continue;
    rank = r;
    body(r, count);
    exit(0);
  }
  for (int r = 0; r < count; ++r) CHECK(waitpid(children[r], &statuses[r], 0) == children[r]);
}

static UNUSED void run_ranks(int count, void (*body)(int rank, int count)) {
  int statuses[64];
  fork_ranks(count, body, statuses);
  for (int r = 0; r < count; ++r)
    if (statuses[r] != 0) FAIL("rank %d of %d ended with status %#x", r, count, statuses[r]);
}

static UNUSED void check_says(int code, int error_class, const char* words) {
  CHECK_EQ(class_of(code), error_class);
  if (strstr(error_text(code), words) == NULL) FAIL("\"%s\" lacks \"%s\"", error_text(code), words);
}

static UNUSED int sum_of(MPI_Comm comm, int value) {
  int sum = 0;
  OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
  return sum;
}

static UNUSED void check_comm(MPI_Comm comm, int me, int members) {
  enum { kLong = 300000 };
  static int out[kLong], in[kLong];
  int found_rank = -1, found_size = -1;
  OK(MPI_Comm_rank(comm, &found_rank));
  OK(MPI_Comm_size(comm, &found_size));
  CHECK_EQ(found_rank, me);
  CHECK_EQ(found_size, members);
  CHECK_EQ(sum_of(comm, me), members * (members - 1) / 2);
  const int right = (me + 1) % members, left = (me + members - 1) % members;
  for (int count = 1; count <= kLong; count += kLong - 1) {
    for (int i = 0; i < count; ++i) out[i] = me + i;
    OK(MPI_Sendrecv(out, count, MPI_INT, right, 5, in, count, MPI_INT, left, 5, comm,
                    MPI_STATUS_IGNORE));
    for (int i = 0; i < count; ++i) CHECK_EQ(in[i], left + i);
  }
  OK(MPI_Barrier(comm));
}

static UNUSED MPI_Comm comm_of(MPI_Session session) {
  MPI_Group group;
  MPI_Comm comm;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  return comm;
}

static UNUSED void check_world(const MPIX_Boot* boot) {
  MPI_Session session;
  OK(MPIX_Boot_provide(boot));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Comm comm = comm_of(session);
  check_comm(comm, boot->rank, boot->size);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

#endif
