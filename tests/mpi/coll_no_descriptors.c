// SPDX-License-Identifier: Apache-2.0
// If a rank lacks a free descriptor, its collective fails, and all ranks fail once a descriptor is
// free.
// ranks: 2 3 5
// transport: sm, a network loses the peer that it has no descriptor for
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { kInts = 1 << 18 };

static void allow(rlim_t descriptors) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = descriptors;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static char sign[64];

/* The others do not come before rank 0 has none left, or it may meet them in MPI_Init. A folder
   needs no descriptor. */
static void wait_until_rank_0_has_none(void) {
  struct stat found;
  snprintf(sign, sizeof sign, "/tmp/tern_no_descriptors.%d", (int)getppid());
  if (rank == 0) {
    allow(3);
    CHECK(mkdir(sign, 0700) == 0);
  }
  while (stat(sign, &found) != 0) usleep(1000);
}

int main(int argc, char** argv) {
  struct rlimit before;
  begin(&argc, &argv);
  int* data = (int*)calloc(kInts, sizeof(int));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  wait_until_rank_0_has_none();
  const int code = MPI_Bcast(data, kInts, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(code != MPI_SUCCESS);
  if (rank == 0) allow(before.rlim_cur);
  FAILS(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Bcast(data, kInts, MPI_INT, 0, copy));
  OK(MPI_Barrier(copy));
  if (rank == 0) CHECK(rmdir(sign) == 0);
  OK(MPI_Comm_free(&copy));
  free(data);
  return end();
}
