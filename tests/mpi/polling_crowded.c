// SPDX-License-Identifier: Apache-2.0
// With more ranks than cores, every polling call in a loop leaves the core: each rank polls a few
// times per hop of a token, not for a time slice.
// ranks: 5
// mpirun: --bind-to none
#define _GNU_SOURCE
#include <sched.h>

#include "check.h"

enum { kRounds = 20, kTag = 3, kMostLooks = 2000 };  // a time slice has tens of thousands of polls

static MPI_Request request;
static MPI_Message message;
static int left, token;

static int test(void) {
  int flag;
  OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  return flag;
}
static int testall(void) {
  int flag;
  OK(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
  return flag;
}
static int testany(void) {
  int flag, index;
  OK(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE));
  return flag;
}
static int testsome(void) {
  int count, index;
  OK(MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE));
  return count == 1;
}
static int get_status(void) {
  int flag;
  OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  return flag;
}
static int get_status_all(void) {
  int flag;
  OK(MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE));
  return flag;
}
static int get_status_any(void) {
  int flag, index;
  OK(MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE));
  return flag;
}
static int get_status_some(void) {
  int count, index;
  OK(MPI_Request_get_status_some(1, &request, &count, &index, MPI_STATUSES_IGNORE));
  return count == 1;
}
static int iprobe(void) {
  int flag;
  OK(MPI_Iprobe(left, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  return flag;
}
static int improbe(void) {
  int flag;
  OK(MPI_Improbe(left, kTag, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
  return flag;
}
static int parrived(void) {
  int flag;
  OK(MPI_Parrived(request, 0, &flag));
  return flag;
}

typedef enum { kReceive, kProbe, kMatchedProbe, kPartitioned } Way;

static const struct {
  const char* name;
  Way way;
  int (*look)(void);
} kCalls[] = {
    {"MPI_Test", kReceive, test},
    {"MPI_Testall", kReceive, testall},
    {"MPI_Testany", kReceive, testany},
    {"MPI_Testsome", kReceive, testsome},
    {"MPI_Request_get_status", kReceive, get_status},
    {"MPI_Request_get_status_all", kReceive, get_status_all},
    {"MPI_Request_get_status_any", kReceive, get_status_any},
    {"MPI_Request_get_status_some", kReceive, get_status_some},
    {"MPI_Iprobe", kProbe, iprobe},
    {"MPI_Improbe", kMatchedProbe, improbe},
    {"MPI_Parrived", kPartitioned, parrived},
};

static void send_on(Way way, MPI_Request* out) {
  if (way == kPartitioned) {
    OK(MPI_Start(out));
    OK(MPI_Pready(0, *out));
    OK(MPI_Wait(out, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, kTag, MPI_COMM_WORLD));
  }
}

static int receive(Way way, int (*look)(void), MPI_Request in) {
  int looks = 1, got = -1;
  request = in;
  if (way == kReceive) OK(MPI_Irecv(&got, 1, MPI_INT, left, kTag, MPI_COMM_WORLD, &request));
  if (way == kPartitioned) OK(MPI_Start(&request));
  while (!look()) ++looks;
  if (way == kProbe)
    OK(MPI_Recv(&got, 1, MPI_INT, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  else if (way == kMatchedProbe)
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  else if (request != MPI_REQUEST_NULL)
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return looks;
}

static void go_round(const char* name, Way way, int (*look)(void)) {
  MPI_Request out = MPI_REQUEST_NULL, in = MPI_REQUEST_NULL;
  static int in_partition;
  if (way == kPartitioned) {
    OK(MPI_Psend_init(&token, 1, 1, MPI_INT, (rank + 1) % size, kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &out));
    OK(MPI_Precv_init(&in_partition, 1, 1, MPI_INT, left, kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &in));
  }
  long looks = 0;
  for (int i = 0; i < kRounds; ++i) {
    if (rank == 0) send_on(way, &out);
    looks += receive(way, look, in);
    if (rank != 0) send_on(way, &out);
  }
  if (looks > (long)kRounds * kMostLooks) FAIL("%s: %ld calls for %d hops", name, looks, kRounds);
  if (way == kPartitioned) {
    OK(MPI_Request_free(&out));
    OK(MPI_Request_free(&in));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  cpu_set_t allowed;
  CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  if (CPU_COUNT(&allowed) >= size) {
    if (rank == 0) printf("there are as many cores as ranks\n");
    MPI_Finalize();
    return 77;
  }
  left = (rank + size - 1) % size;
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i)
    go_round(kCalls[i].name, kCalls[i].way, kCalls[i].look);
  return end();
}
