// SPDX-License-Identifier: Apache-2.0
// A rank dies with a lock held, or before a post: waiting ranks get an error with the rank's name.
// The test stops mpirun, because mpirun would end the job.
// ranks: 3
// timeout: 20
// expect-exit: nonzero
// expect-stdout: ^both heard of it
// sanitizers: no, a process is killed
// hosts: no, what started the ranks is stopped
#include <signal.h>
#include <unistd.h>

#include "check.h"

static void must_name(int code) {
  CHECK_EQ(class_of(code), MPI_ERR_OTHER);
  CHECK(strstr(error_text(code), "rank 1 (pid ") != NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  long* mine;
  MPI_Win win;
  OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  MPI_Group all, victim;
  const int one = 1;
  OK(MPI_Win_get_group(win, &all));
  OK(MPI_Group_incl(all, 1, &one, &victim));
  if (rank == 0) kill(getppid(), SIGSTOP);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    raise(SIGKILL);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  must_name(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  must_name(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
  must_name(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
  long value = 0;
  OK(MPI_Win_start(victim, 0, win));
  must_name(MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
  OK(MPI_Win_post(victim, 0, win));
  must_name(MPI_Win_wait(win));
  if (rank == 2) {
    OK(MPI_Send(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&value, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    printf("both heard of it\n");
    fflush(stdout);
    kill(getppid(), SIGCONT);
  }
  for (;;) pause();  // mpirun ends the job
}
