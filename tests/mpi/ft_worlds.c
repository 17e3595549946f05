// SPDX-License-Identifier: Apache-2.0
// A rank of a spawned world dies. The world's other ranks go on, and so does the parents' world.
// A child is this program with the argument "child".
// ranks: 1 2
// mpirun: --with-ft ulfm
// timeout: 60
// sanitizers: no, processes are killed
// hosts: no, the ranks of a job on several hosts end together
#include "check.h"

#include <mpix.h>
#include <signal.h>

enum { kKids = 3 };

static void child(MPI_Comm parents) {
  MPI_Comm left;
  int ranks, flag = 6;
  if (rank == kKids - 1) {  // dies after all children have met the parents
    for (int i = 0; i < kKids - 1; ++i)
      OK(MPI_Recv(&ranks, 1, MPI_INT, i, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    raise(SIGKILL);
  }
  OK(MPI_Send(&rank, 1, MPI_INT, kKids - 1, 2, MPI_COMM_WORLD));
  FAILS(MPI_Barrier(MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED);
  FAILS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPIX_ERR_PROC_FAILED);
  CHECK_EQ(flag, 6);
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left));
  OK(MPI_Comm_size(left, &ranks));
  CHECK_EQ(ranks, kKids - 1);
  OK(MPI_Barrier(left));
  OK(MPI_Comm_free(&left));
  if (rank == 0) OK(MPI_Send(&ranks, 1, MPI_INT, 0, 1, parents));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm other;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_get_parent(&other));
  if (other != MPI_COMM_NULL) {
    child(other);
  } else {
    char name[] = "child", command[MPI_MAX_INFO_VAL] = "", words[MPI_MAX_INFO_VAL] = "none";
    char* arguments[] = {name, NULL};
    int found, left = 0;
    OK(MPI_Info_get(MPI_INFO_ENV, "command", sizeof command - 1, command, &found));
    CHECK(found && strcmp(command, argv[0]) == 0);
    OK(MPI_Info_get(MPI_INFO_ENV, "argv", sizeof words - 1, words, &found));
    CHECK(found && words[0] == 0);
    OK(MPI_Comm_spawn(command, arguments, kKids, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                      MPI_ERRCODES_IGNORE));
    if (rank == 0) {
      OK(MPI_Recv(&left, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE));
      CHECK_EQ(left, kKids - 1);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  MPI_Finalize();
  return 0;
}
