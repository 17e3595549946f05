// SPDX-License-Identifier: Apache-2.0
// Repeated calls of any kind, or one blocking call, advance earlier long messages to and from the
// rank.
// ranks: 3
// timeout: 240
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 3000000, kLong = 1, kOther = 2, kEnd = 3, kSlow = 4 };

// Rank 1 sets *stop without MPI.
static volatile int* stop;
static char *in, *out, *back;
static MPI_Comm pair;
static MPI_Request never;
static int number;

static void share_stop(void) {
  char name[64];
  int id = (int)getpid();
  OK(MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD));
  snprintf(name, sizeof name, "/mpi_progress_rules.%d", id);
  const int file = shm_open(name, O_RDWR | O_CREAT, 0600);
  CHECK(file >= 0 && ftruncate(file, 4096) == 0);
  stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(stop != MAP_FAILED);
  close(file);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) shm_unlink(name);
}

// These calls of rank 0 run until the stop flag; rank 2 is the partner.

static void only_tests(void) {
  int flag;
  OK(MPI_Test(&never, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}
static void only_testany(void) {
  int flag, index;
  OK(MPI_Testany(1, &never, &index, &flag, MPI_STATUS_IGNORE));
}
static void only_testsome(void) {
  int some, index;
  OK(MPI_Testsome(1, &never, &some, &index, MPI_STATUSES_IGNORE));
}
static void only_testall(void) {
  int flag;
  OK(MPI_Testall(1, &never, &flag, MPI_STATUSES_IGNORE));
}
static void only_looks(void) {
  int flag;
  OK(MPI_Request_get_status(never, &flag, MPI_STATUS_IGNORE));
}
static void only_probes(void) {
  int flag;
  OK(MPI_Iprobe(MPI_ANY_SOURCE, kEnd, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}
static void only_probes_matched(void) {
  int flag;
  MPI_Message message;
  OK(MPI_Improbe(2, kEnd, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(flag, 0);
}
static void only_sends(void) { OK(MPI_Send(&number, 1, MPI_INT, 2, kOther, MPI_COMM_WORLD)); }
static void only_exchanges(void) {
  const int other = rank == 0 ? 1 : 0;
  int got;
  OK(MPI_Sendrecv(&number, 1, MPI_INT, other, 0, &got, 1, MPI_INT, other, 0, pair,
                  MPI_STATUS_IGNORE));
}
static void only_receives(void) {
  if (rank == 0)
    OK(MPI_Recv(&number, 1, MPI_INT, 1, 1, pair, MPI_STATUS_IGNORE));
  else
    OK(MPI_Send(&number, 1, MPI_INT, 0, 1, pair));
}
static void only_barriers(void) { OK(MPI_Barrier(pair)); }
static void only_reduces(void) {
  int sum;
  OK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, pair));
}

static void drain(void) {
  MPI_Status status;
  do OK(MPI_Recv(&number, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  while (status.MPI_TAG != kEnd);
}
// Rank 2 ends each blocking call of rank 0.

static void when_told(void) {
  while (!*stop) usleep(1000);
  OK(MPI_Send(&number, 1, MPI_INT, 0, kSlow, MPI_COMM_WORLD));
}
static void blocks_in_recv(void) {
  OK(MPI_Recv(&number, 1, MPI_INT, 2, kSlow, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}
static void blocks_in_probe(void) {
  OK(MPI_Probe(2, kSlow, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  blocks_in_recv();
}
static void blocks_in_ssend(void) { OK(MPI_Ssend(&number, 1, MPI_INT, 2, kSlow, MPI_COMM_WORLD)); }
static void take_when_told(void) {
  while (!*stop) usleep(1000);
  OK(MPI_Recv(&number, 1, MPI_INT, 0, kSlow, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}
static void blocks_in_waitany(void) {
  MPI_Request two[2] = {never, MPI_REQUEST_NULL};
  int index;
  OK(MPI_Irecv(&number, 1, MPI_INT, 2, kSlow, MPI_COMM_WORLD, &two[1]));
  OK(MPI_Waitany(2, two, &index, MPI_STATUS_IGNORE));
  CHECK_EQ(index, 1);
}
static void barrier_when_told(void) {
  while (!*stop) usleep(1000);
  OK(MPI_Barrier(pair));
}

static const struct {
  const char* name;
  void (*rank_0)(void);
  int repeats;  // rank 0 repeats the call until rank 1 is done
  void (*rank_2)(void);
  int told_end;
} cases[] = {{"only tests", only_tests, 1, NULL, 0},
             {"only testany", only_testany, 1, NULL, 0},
             {"only testsome", only_testsome, 1, NULL, 0},
             {"only testall", only_testall, 1, NULL, 0},
             {"only looks", only_looks, 1, NULL, 0},
             {"only probes", only_probes, 1, NULL, 0},
             {"only probes matched", only_probes_matched, 1, NULL, 0},
             {"only sends", only_sends, 1, drain, 1},
             {"blocks in recv", blocks_in_recv, 0, when_told, 0},
             {"blocks in probe", blocks_in_probe, 0, when_told, 0},
             {"blocks in ssend", blocks_in_ssend, 0, take_when_told, 0},
             {"blocks in waitany", blocks_in_waitany, 0, when_told, 0},
             {"blocks in barrier", only_barriers, 0, barrier_when_told, 0}};

static void begin_case(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) *stop = 0;
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void check_case(int which, int receives) {
  MPI_Request request;
  begin_case();
  if (rank == 0) {
    if (receives)
      OK(MPI_Irecv(in, kBytes, MPI_CHAR, 1, kLong, MPI_COMM_WORLD, &request));
    else
      OK(MPI_Isend(out, kBytes, MPI_CHAR, 1, kLong, MPI_COMM_WORLD, &request));
    do cases[which].rank_0();
    while (cases[which].repeats && !*stop);
    if (cases[which].told_end) OK(MPI_Send(&number, 1, MPI_INT, 2, kEnd, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (receives) CHECK_FILLED(in, kBytes, (unsigned)which);
  } else if (rank == 1) {
    fill(out, kBytes, (unsigned)which);
    usleep(2000);
    if (receives)
      OK(MPI_Ssend(out, kBytes, MPI_CHAR, 0, kLong, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(back, kBytes, MPI_CHAR, 0, kLong, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    *stop = 1;
  } else if (cases[which].rank_2 != NULL) {
    cases[which].rank_2();
  }
}

static void together(void (*turn)(void)) {
  MPI_Request request;
  int mine, any = 0;
  begin_case();
  if (rank == 1) {
    OK(MPI_Ssend(out, kBytes, MPI_CHAR, 0, kLong, MPI_COMM_WORLD));
    *stop = 1;
    return;
  }
  if (rank == 0) OK(MPI_Irecv(in, kBytes, MPI_CHAR, 1, kLong, MPI_COMM_WORLD, &request));
  while (!any) {
    for (int i = 0; i < 50; ++i) turn();
    mine = *stop;
    OK(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, pair));
  }
  if (rank == 0) OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  need(3);
  in = malloc(kBytes);
  out = calloc(1, kBytes);
  back = malloc(kBytes);
  CHECK(in != NULL && out != NULL && back != NULL);
  share_stop();
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &pair));
  if (rank == 0) OK(MPI_Irecv(&number, 1, MPI_INT, 2, 99, MPI_COMM_WORLD, &never));
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); ++i) {
    check_case(i, 1);
    check_case(i, 0);
  }
  together(only_barriers);
  together(only_reduces);
  together(only_exchanges);
  together(only_receives);
  if (rank != 1) OK(MPI_Barrier(pair));
  if (rank == 0) {
    OK(MPI_Cancel(&never));
    OK(MPI_Wait(&never, MPI_STATUS_IGNORE));
  }
  OK(MPI_Comm_free(&pair));
  free(in);
  free(out);
  free(back);
  return end();
}
