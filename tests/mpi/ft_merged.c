// SPDX-License-Identifier: Apache-2.0
// Two worlds merge, and one rank of the younger dies, or all: the others hear of the death, agree,
// shrink and go on together.
// args: recv
// ranks: 1 2 3
// mpirun: --with-ft ulfm
// timeout: 60
// sanitizers: no, a process is killed
// hosts: no, mpirun alone tells of deaths at once
// variant: barrier
//   A flat collective hears of the death first.
//   args: barrier
// variant: world
//   All ranks of the younger world die.
//   args: world
#include "check.h"

#include <mpix.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  enum { kChildren = 2, kSoonMs = 2000 };
  MPI_Comm parent, inter, merged, left;
  begin(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  inter = parent;
  if (parent == MPI_COMM_NULL)
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                      MPI_ERRCODES_IGNORE));
  OK(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged));
  OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
  int me, members, one = 1, sum = 0, flag, ranks;
  char data;
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &members));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged));
  CHECK_EQ(sum, members);
  // Children get no arguments.
  const int all_die = parent == MPI_COMM_NULL && strcmp(argv[1], "world") == 0;
  const int barrier_first = parent == MPI_COMM_NULL && strcmp(argv[1], "barrier") == 0;
  int dead = all_die ? kChildren : 1;
  OK(MPI_Bcast(&dead, 1, MPI_INT, 0, merged));
  if (me >= members - dead) raise(SIGKILL);
  const double since = now_ms();
  if (barrier_first) FAILS(MPI_Barrier(merged), MPIX_ERR_PROC_FAILED);
  FAILS(MPI_Recv(&data, 1, MPI_CHAR, members - 1, 1, merged, MPI_STATUS_IGNORE),
        MPIX_ERR_PROC_FAILED);
  CHECK(now_ms() - since < kSoonMs);
  FAILS(MPI_Barrier(merged), MPIX_ERR_PROC_FAILED);
  flag = ~(1 << me);
  FAILS(MPIX_Comm_agree(merged, &flag), MPIX_ERR_PROC_FAILED);
  const int living = (1 << (members - dead)) - 1;
  CHECK_EQ(flag & living, 0);
  OK(MPIX_Comm_shrink(merged, &left));
  OK(MPI_Comm_size(left, &ranks));
  CHECK_EQ(ranks, members - dead);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left));
  CHECK_EQ(sum, ranks);
  OK(MPI_Comm_free(&left));
  OK(MPI_Comm_free(&merged));
  MPI_Finalize();
  return 0;
}
