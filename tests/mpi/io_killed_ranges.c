// SPDX-License-Identifier: Apache-2.0
// A rank dies with a range of atomic mode, or while waiting for a range, or as the keeper of the
// ranges. No other rank waits for ever. Four ranks on two hosts, without a launcher.
//
// ranks: singleton
// timeout: 120
// env: TERN_NET_TIMEOUT=6s TERN_TRANSPORT=sm,ofi
// waits: yes
// sanitizers: no, its processes are forked and killed
// hosts: no, the ranks are forked
// variant: ucx
//   env: TERN_NET_TIMEOUT=6s TERN_TRANSPORT=sm,ucx
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "boot_files.h"

enum { kRanks = 4, kMostSeconds = 30, kPage = 4096, kBlock = 64 };

// Memory of all processes.
static struct Shared { int holds, ended, released; } * shared;
static MPI_Comm comm;
static MPI_File file;
static unsigned char* memory;
static MPI_Datatype parts;
static char name[128];

// A page without access stops a rank inside a write, while the rank packs data.
static int dies_inside;
static void inside(int number) {
  (void)number;
  shared->holds = 1;
  if (dies_inside) kill(getpid(), SIGKILL);
  for (int i = 0; i < 1500 && shared->ended == 0; ++i) sleep_ms(1);
  sleep_ms(200);
  shared->released = 1;
  mprotect(memory, kPage, PROT_READ | PROT_WRITE);
}

static int write_range(void) {
  return MPI_File_write_at(file, 0, memory, 1, parts, MPI_STATUS_IGNORE);
}

static void begin_files(int me, int members, const char* job) {
  MPI_Session session;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  files_boot(me, members, job);
  files.host = me < 2 ? "one" : "two";
  OK(MPIX_Boot_provide(&files));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  comm = comm_of(session);
  size = members;
  snprintf(name, sizeof name, "%s/file-%s", directory, job);
  OK(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_Type_vector(kPage / 2 / kBlock, kBlock, 2 * kBlock, MPI_BYTE, &parts));
  OK(MPI_Type_commit(&parts));
  memory = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  for (int i = 0; i < 3; ++i) OK(write_range());
  OK(MPI_Barrier(comm));
  signal(SIGSEGV, inside);
}

// Rank 0 answers while it waits.
static void await(const int* counter, int least) {
  for (int ms = 0; __atomic_load_n(counter, __ATOMIC_ACQUIRE) < least; ++ms) {
    int found;
    if (ms > kMostSeconds * 1000) FAIL("%d of %d events after %d s", *counter, least, kMostSeconds);
    OK(MPI_Iprobe(rank, 99, comm, &found, MPI_STATUS_IGNORE));
    sleep_ms(1);
  }
}

// The survivors leave together, because rank 0 serves the others.
static void leave(int survivors) {
  __atomic_fetch_add(&shared->ended, 1, __ATOMIC_RELEASE);
  await(&shared->ended, survivors);
  const int code = file == MPI_FILE_NULL ? MPI_ERR_PROC_ABORTED : class_of(MPI_File_close(&file));
  CHECK_EQ(code, MPI_ERR_PROC_ABORTED);
  _exit(0);
}

static void holder_dies(int victim, const char* job, int me, int members) {
  begin_files(me, members, job);
  if (me == victim) {
    dies_inside = 1;
    mprotect(memory, kPage, PROT_NONE);
    (void)write_range();
    FAIL("the victim lives");
  }
  await(&shared->holds, 1);
  OK(write_range());
  OK(write_range());
  leave(members - 1);
}
static void far_holder(int me, int members) { holder_dies(3, "far_holder", me, members); }
static void near_holder(int me, int members) { holder_dies(1, "near_holder", me, members); }

static void kill_self(int number) {
  (void)number;
  kill(getpid(), SIGKILL);
}
// Rank 2 holds the range until the victim, which waits for the range, has died.
static void waiter_dies(int victim, const char* job, int me, int members) {
  begin_files(me, members, job);
  if (me == 2) {
    mprotect(memory, kPage, PROT_NONE);
    OK(write_range());
  } else if (me == victim) {
    signal(SIGALRM, kill_self);
    while (!shared->holds) sleep_ms(1);
    ualarm(300000, 0);
    (void)write_range();
    FAIL("the victim lives");
  } else {
    await(&shared->released, 1);
  }
  sleep_ms(300);
  OK(write_range());
  leave(members - 1);
}
static void far_waiter(int me, int members) { waiter_dies(3, "far_waiter", me, members); }
static void near_waiter(int me, int members) { waiter_dies(1, "near_waiter", me, members); }

// Rank 0 dies, or closes the file after the end of rank 1. `before`: a question is under way.
static void keeper_ends(int dies, int before, const char* job, int me, int members) {
  begin_files(me, members, job);
  if (me == (dies ? 0 : 1)) {
    if (before) sleep_ms(500);
    kill(getpid(), SIGKILL);
  }
  if (me == 0) {
    sleep_ms(before ? 1000 : 0);
    CHECK_EQ(class_of(MPI_File_close(&file)), MPI_ERR_PROC_ABORTED);
    leave(members - 1);
  }
  if (!before) sleep_ms(1500);
  const double start = MPI_Wtime();
  int code = MPI_SUCCESS;
  // Rank 0 may answer before the end.
  while (code == MPI_SUCCESS && MPI_Wtime() - start < kMostSeconds)
    code = me == 2 ? write_range() : MPI_File_write_shared(file, memory, 1, parts, NULL);
  check_says(code, MPI_ERR_PROC_ABORTED, "rank 0");
  check_says(write_range(), MPI_ERR_PROC_ABORTED, "rank 0");
  check_says(MPI_File_write_shared(file, memory, 1, parts, NULL), MPI_ERR_PROC_ABORTED, "rank 0");
  leave(members - 1);
}
static void keeper_died(int me, int members) { keeper_ends(1, 0, "keeper_died", me, members); }
static void keeper_dies(int me, int members) { keeper_ends(1, 1, "keeper_dies", me, members); }
static void keeper_closed(int me, int members) { keeper_ends(0, 0, "keeper_closed", me, members); }
static void keeper_closes(int me, int members) { keeper_ends(0, 1, "keeper_closes", me, members); }

static void survive(const char* what, int victim, void (*body)(int me, int members)) {
  int statuses[kRanks];
  memset(shared, 0, sizeof *shared);
  fork_ranks(kRanks, body, statuses);
  for (int r = 0; r < kRanks; ++r)
    if (r != victim && statuses[r] != 0) FAIL("%s: rank %d: status %#x", what, r, statuses[r]);
  CHECK(WIFSIGNALED(statuses[victim]) && WTERMSIG(statuses[victim]) == SIGKILL);
}

static void has_network(int me, int members) {
  (void)me, (void)members;
  _exit(dlopen("libucp.so.0", RTLD_LAZY) == NULL && dlopen("libfabric.so.1", RTLD_LAZY) == NULL);
}

int main(int argc, char** argv) {
  int status;
  fork_ranks(1, has_network, &status);
  if (status != 0) {
    puts("neither UCX nor libfabric is installed");
    return 77;
  }
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  make_directory();
  const struct {
    const char* what;
    int victim;
    void (*body)(int me, int members);
  } phases[] = {{"far_holder", 3, far_holder},       {"near_holder", 1, near_holder},
                {"far_waiter", 3, far_waiter},       {"near_waiter", 1, near_waiter},
                {"keeper_died", 0, keeper_died},     {"keeper_dies", 0, keeper_dies},
                {"keeper_closed", 1, keeper_closed}, {"keeper_closes", 1, keeper_closes}};
  for (size_t i = 0; i < sizeof phases / sizeof *phases; ++i)
    if (argc < 2 || strcmp(argv[1], phases[i].what) == 0)
      survive(phases[i].what, phases[i].victim, phases[i].body);
  remove_directory();
  return 0;
}
