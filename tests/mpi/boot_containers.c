// SPDX-License-Identifier: Apache-2.0
// Containers of one host, without mpirun. With a user namespace per rank, keeper threads pass the
// shared memory on. With a network namespace per rank, every rank gets an error at the first
// contact.
//
// ranks: singleton
// timeout: 60
// expect-stderr: rank 2 has died
// sanitizers: no, its processes are forked and killed
// transport: sm, shared memory alone
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include "boot_files.h"

enum { kVictim = 2, kFlood = 5000 };

static int contain(int spaces) {
  char map[64];
  const int length = snprintf(map, sizeof map, "0 %u 1", geteuid());
  if (unshare(CLONE_NEWUSER | spaces) != 0) return 0;
  const int file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
  const int fits = write(file, map, (size_t)length) == length;
  close(file);
  return fits;
}

static MPI_Session begin_world(int me, int members, const char* job) {
  MPI_Session session;
  OK(MPIX_Boot_provide(files_boot(me, members, job)));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  return session;
}

static void check_shared(MPI_Comm comm, int me, int members) {
  MPI_Win window;
  int *mine, *next, unit;
  MPI_Aint bytes;
  OK(MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, comm, &mine, &window));
  *mine = me;
  OK(MPI_Win_fence(0, window));
  OK(MPI_Win_shared_query(window, (me + 1) % members, &bytes, &unit, &next));
  CHECK_EQ(*next, (me + 1) % members);
  OK(MPI_Win_fence(0, window));
  OK(MPI_Win_free(&window));
}

static void share(int me, int members) {
  CHECK(contain(0));
  MPI_Session session = begin_world(me, members, "share");
  MPI_Comm comm = comm_of(session);
  check_comm(comm, me, members);
  check_shared(comm, me, members);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void lose_one(int me, int members) {
  CHECK(contain(0));
  MPI_Session session = begin_world(me, members, "lose");
  MPI_Comm comm = comm_of(session);
  OK(MPI_Barrier(comm));
  if (me == kVictim) raise(SIGKILL);
  sleep_ms(300);
  for (int i = 0; i < kFlood; ++i) {
    MPI_Request request;
    OK(MPI_Isend(&me, 1, MPI_INT, kVictim, 1, comm, &request));
    OK(MPI_Request_free(&request));
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void find_nothing(int me, int members) {
  CHECK(contain(CLONE_NEWNET));
  MPI_Session session = begin_world(me, members, "nothing");
  MPI_Comm comm = comm_of(session);
  const int code = MPI_Barrier(comm);
  if (code == MPI_SUCCESS) FAIL("%s", "a barrier");
  check_says(code, MPI_ERR_OTHER, "network namespace");
  sleep_ms(1000);
  _exit(0);
}

static void can_contain(int me, int members) {
  (void)me, (void)members;
  _exit(contain(CLONE_NEWNET) ? 0 : 1);
}

int main(void) {
  int statuses[3] = {0};
  setenv("TERN_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
  fork_ranks(1, can_contain, statuses);
  if (statuses[0] != 0) {
    puts("no user namespaces here");
    return 77;
  }
  make_directory();
  run_ranks(3, share);
  fork_ranks(3, lose_one, statuses);
  for (int r = 0; r < kVictim; ++r) CHECK_EQ(statuses[r], 0);
  CHECK(WIFSIGNALED(statuses[kVictim]));
  run_ranks(2, find_nothing);
  remove_directory();
  return 0;
}
