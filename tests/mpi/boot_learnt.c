// SPDX-License-Identifier: Apache-2.0
// TERN_COLL_LEARNT without a launcher (MPIX_Boot_provide, as under torchrun): rank 0 sends the
// file's lines with the connection infos, and writes the job's measurements.
//
// ranks: singleton
// timeout: 120
// sanitizers: no, forked processes
#include <fcntl.h>
#include <sys/stat.h>

#include "boot_files.h"

enum { kBytes = 8192, kMost = 4, kLearns = 400 };

static char file[64], said[64];
static int calls, sessions;

static void gather(MPI_Comm comm, int me, int members) {
  static unsigned char in[kBytes], out[kMost * kBytes];
  memset(in, me + 1, sizeof in);
  for (int i = 0; i < calls; ++i)
    OK(MPI_Allgather(in, kBytes, MPI_BYTE, out, kBytes, MPI_BYTE, comm));
  for (int i = 0; i < members * kBytes; ++i) CHECK_EQ(out[i], i / kBytes + 1);
}

static void world(int me, int members) {
  MPI_Session session;
  if (me == 0) CHECK(freopen(said, "w", stderr) != NULL);
  OK(MPIX_Boot_provide(files_boot(me, members, sessions ? "session" : "init")));
  if (sessions) {
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Comm comm = comm_of(session);
    gather(comm, me, members);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
  } else {
    OK(MPI_Init(NULL, NULL));
    gather(MPI_COMM_WORLD, me, members);
    OK(MPI_Finalize());
  }
}

static void run(const char* tune, int of_sessions, int many) {
  setenv("TERN_COLL_TUNE", tune, 1);
  sessions = of_sessions;
  calls = many;
  make_directory();
  run_ranks(kMost, world);
  remove_directory();
  strcpy(directory, "/tmp/tern-boot-XXXXXX");
}

static int has_line(const char* name, const char* first, const char* second) {
  char line[1024];
  int found = 0;
  FILE* open = fopen(name, "r");
  CHECK(open != NULL);
  while (fgets(line, sizeof line, open) != NULL)
    found |= strstr(line, first) != NULL && strstr(line, second) != NULL;
  fclose(open);
  return found;
}

static void plant(int more) {
  char head[1024];
  FILE* open = fopen(file, "r");
  CHECK(open != NULL && fgets(head, sizeof head, open) != NULL);
  fclose(open);
  char* const count = strrchr(head, ';');
  CHECK(count != NULL);
  *count = 0;
  open = fopen(file, "w");
  CHECK(open != NULL);
  fprintf(open, "%s; %d lines\n", head, more + 1);
  for (int i = 0; i < more; ++i)
    fprintf(open, "bcast 99 %d scatter_allgather one_host  # 1.00 us, 3 rounds\n", i);
  fprintf(open, "allgather 4 any ring one_host\n");
  CHECK(fclose(open) == 0);
}

int main(void) {
  char root[] = "/tmp/tern-learnt-XXXXXX";
  CHECK(mkdtemp(root) != NULL);
  snprintf(file, sizeof file, "%s/lines", root);
  snprintf(said, sizeof said, "%s/said", root);
  setenv("TERN_COLL_LEARNT", file, 1);
  setenv("TERN_EXPLAIN", "1", 1);
  for (int of_sessions = 0; of_sessions < 2; ++of_sessions) {
    unlink(file);
    run("learn", of_sessions, kLearns);
    CHECK(has_line(file, "allgather 4 4097..8192 ", " us, "));
    for (int more = 0; more <= 1000; more += 1000) {
      plant(more);
      run("auto", of_sessions, 1);
      CHECK(has_line(said, "on 4 ranks: ring ", "by measurement"));
    }
    run("off", of_sessions, 1);
    CHECK(!has_line(said, "on 4 ranks", "by measurement"));
  }
  unlink(file), unlink(said);
  char lock[80];
  snprintf(lock, sizeof lock, "%s.lock", file);
  unlink(lock);
  CHECK(rmdir(root) == 0);
  return 0;
}
