// SPDX-License-Identifier: Apache-2.0
// Consecutive worlds in the same processes, connected over files; MPI_Init; jobs ended by MPI_Abort
// and by a signal.
//
// ranks: singleton
// timeout: 120
// cflags: -pthread
// sanitizers: no, its processes are forked and end in every way
#include <pthread.h>
#include <signal.h>

#include "boot_files.h"

static void ten_worlds(int me, int members) {
  for (int world = 0; world < 10; ++world) {
    char job[32];
    const int size_now = members - world % 2;
    snprintf(job, sizeof job, "ten.%d", world);
    if (me >= size_now) continue;
    const MPIX_Boot* boot = files_boot((me + world) % size_now, size_now, job);
    const int before = ended;
    check_world(boot);
    CHECK_EQ(ended, before + 1);
    if (boot->rank == 0 ? requests > 3 + 2 * (size_now + 1) + 2 : requests > 5)
      FAIL("rank %d of %d made %d requests", boot->rank, size_now, requests);
  }
}

static void world_of_init(int me, int members) {
  MPI_Session session;
  OK(MPIX_Boot_provide(files_boot(me, members, members == 1 ? "init.alone" : "init")));
  OK(MPI_Init(NULL, NULL));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  check_comm(MPI_COMM_WORLD, me, members);
  int code = MPIX_Boot_provide(&files);
  check_says(code, MPI_ERR_OTHER, "while MPI is in use");
  OK(MPI_Finalize());
  CHECK_EQ(ended, 1);
  code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  check_says(code, MPI_ERR_OTHER, "call MPIX_Boot_provide again");
  check_world(files_boot(members - 1 - me, members, members == 1 ? "again.alone" : "again"));
  CHECK_EQ(ended, 2);
}

// A leaked communicator is invalid in the next world.
static void forgotten(int me, int members) {
  MPI_Session session;
  OK(MPIX_Boot_provide(files_boot(me, members, "forgotten.1")));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Comm kept = comm_of(session);
  OK(MPI_Barrier(kept));
  OK(MPI_Session_finalize(&session));
  OK(MPIX_Boot_provide(files_boot(me, members, "forgotten.2")));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Comm comm = comm_of(session);
  CHECK_EQ(sum_of(comm, 1), members);
  CHECK(kept != comm);
  FAILS(MPI_Barrier(kept), MPI_ERR_COMM);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void first_of_two(int me, int members) {
  MPI_Session session;
  OK(MPIX_Boot_provide(files_boot(me, members, "killed")));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  check_comm(comm_of(session), me, members);
  if (me == 1) raise(SIGKILL);
  sleep_ms(20);
  _exit(3);
}

static void second_of_two(int me, int members) { check_world(files_boot(me, members, "next")); }

static MPI_Comm watched;

static void* watch(void* unused) {
  sleep_ms(200);
  OK(MPIX_Comm_interrupt(watched));
  return unused;
}

static void survivors(int me, int members) {
  MPI_Session session;
  pthread_t thread;
  int in = 0;
  OK(MPIX_Boot_provide(files_boot(me, members, "survivors")));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  watched = comm_of(session);
  check_comm(watched, me, members);
  if (me == 1) raise(SIGKILL);
  CHECK(pthread_create(&thread, NULL, watch, NULL) == 0);
  const int code = me == 0 ? MPI_Recv(&in, 1, MPI_INT, 1, 1, watched, MPI_STATUS_IGNORE)
                           : MPI_Allreduce(&me, &in, 1, MPI_INT, MPI_SUM, watched);
  check_says(code, MPI_ERR_OTHER, "MPIX_Comm_interrupt");
  CHECK(pthread_join(thread, NULL) == 0);
  _exit(5);
}

static void aborting(int me, int members) {
  OK(MPIX_Boot_provide(files_boot(me, members, "abort")));
  OK(MPI_Init(NULL, NULL));
  if (me == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  char value[256] = "";
  int bytes = 0;
  CHECK_EQ(file_get(&files, 1, "aborted", value, sizeof value, &bytes), MPI_SUCCESS);
  CHECK(strncmp(value, "7 ", 2) == 0);
  _exit(4);
}

int main(void) {
  int statuses[64];
  setenv("TERN_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
  make_directory();
  run_ranks(4, ten_worlds);
  run_ranks(1, world_of_init);
  run_ranks(4, world_of_init);
  run_ranks(2, forgotten);
  fork_ranks(3, first_of_two, statuses);
  CHECK(WIFSIGNALED(statuses[1]) && WTERMSIG(statuses[1]) == SIGKILL);
  run_ranks(3, second_of_two);
  fork_ranks(4, survivors, statuses);
  for (int r = 0; r < 4; ++r)
    if (r != 1) CHECK_EQ(WEXITSTATUS(statuses[r]), 5);
  fork_ranks(2, aborting, statuses);
  CHECK_EQ(WEXITSTATUS(statuses[1]), 7);
  CHECK_EQ(WEXITSTATUS(statuses[0]), 4);
  remove_directory();
  return 0;
}
