// SPDX-License-Identifier: Apache-2.0
// A wrong MPIX_Boot, a failing function or contradicting ranks give every rank an error, not a
// world of one.
//
// ranks: singleton
// timeout: 120
// sanitizers: no, its processes are forked
#include "boot_files.h"

#define REFUSED(member, value, words)                           \
  do {                                                          \
    MPIX_Boot wrong = *files_boot(0, 1, "refused");             \
    wrong.member = value;                                       \
    check_says(PMPIX_Boot_provide(&wrong), MPI_ERR_ARG, words); \
  } while (0)

static void structs(int me, int members) {
  (void)me, (void)members;
  REFUSED(version, MPIX_BOOT_VERSION + 1, "version 2");
  REFUSED(size, 0, "size 0");
  REFUSED(rank, 1, "rank 1, but a job of 1");
  REFUSED(rank, -1, "rank -1");
  REFUSED(put, NULL, "a null pointer as put");
  REFUSED(get, NULL, "a null pointer as get");
  REFUSED(fence, NULL, "a null pointer as fence");
  REFUSED(job, NULL, "a null pointer as job");
  REFUSED(job, "", "job \"\"");
  REFUSED(job, "no/path", "job \"no/path\"");
  check_says(MPIX_Boot_provide(NULL), MPI_ERR_ARG, "boot is a null pointer");
  CHECK_EQ(ended, 0);
  // The last MPIX_Boot_provide wins. abort, done and host may be null.
  OK(MPIX_Boot_provide(files_boot(0, 1, "first")));
  files_boot(0, 1, "second");
  files.abort = NULL;
  files.done = NULL;
  check_world(&files);
  CHECK_EQ(ended, 1);
}

static void init_fails(const MPIX_Boot* boot, int error_class, const char* words) {
  MPI_Session session = MPI_SESSION_NULL;
  int flag = 1;
  OK(MPIX_Boot_provide(boot));
  const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  check_says(code, error_class, words);
  CHECK(session == MPI_SESSION_NULL);
  OK(MPI_Initialized(&flag));
  CHECK_EQ(flag, 0);
  // A later session neither uses the old functions nor starts a singleton world.
  check_says(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_ERR_OTHER,
             "call MPIX_Boot_provide again");
}

static void sizes(int me, int members) {
  files_boot(me, me == 0 ? members : members + 1, "sizes");
  init_fails(&files, MPI_ERR_OTHER, me == 0 ? "4 on rank 1, but 3 on rank 0" : "on rank 0");
  check_world(files_boot(me, members, "sizes.again"));
}

static void too_few(int me, int members) {
  patience_ms = me == 0 ? 100 : 30000;
  files_boot(me, members + 1, "few");
  init_fails(&files, me == 0 ? MPI_ERR_NO_SUCH_FILE : MPI_ERR_OTHER,
             "the function get given by MPIX_Boot_provide failed for key \"few.site\" of rank 2");
}

static void same_rank(int me, int members) {
  MPI_Session session;
  patience_ms = 1000;
  OK(MPIX_Boot_provide(files_boot(me == 2 ? 1 : me, members - 1, "same")));
  const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  // Possibly only the second process with rank 1 sees the conflict.
  _exit(code != MPI_SUCCESS && strstr(error_text(code), "two processes were given rank 1") ? 9 : 0);
}

static int fails(void* context, const char* key, const void* value, int bytes) {
  (void)context, (void)key, (void)value, (void)bytes;
  return MPI_ERR_ACCESS;
}
static int fence_fails(void* context) {
  (void)context;
  return 123456;
}
static int negative(void* context, int of, const char* key, void* value, int room, int* bytes) {
  (void)context, (void)of, (void)key, (void)value, (void)room;
  *bytes = -3;
  return MPI_SUCCESS;
}

static void functions(int me, int members) {
  files_boot(me, members, "put");
  files.put = fails;
  init_fails(&files, MPI_ERR_ACCESS, "the function put given by MPIX_Boot_provide failed");
  files_boot(me, members, "get");
  files.get = negative;
  init_fails(&files, MPI_ERR_OTHER, "-3 bytes");
  files_boot(me, members, "fence");
  files.fence = fence_fails;
  OK(MPIX_Boot_provide(&files));
  check_says(MPI_Init(NULL, NULL), MPI_ERR_OTHER,
             "fence given by MPIX_Boot_provide failed: it returned 123456");
  _exit(0);
}

int main(void) {
  int statuses[64];
  setenv("TERN_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
  make_directory();
  run_ranks(1, structs);
  run_ranks(3, sizes);
  run_ranks(2, too_few);
  fork_ranks(3, same_rank, statuses);
  CHECK(WEXITSTATUS(statuses[1]) == 9 || WEXITSTATUS(statuses[2]) == 9);
  run_ranks(2, functions);
  remove_directory();
  return 0;
}
