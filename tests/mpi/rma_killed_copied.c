// SPDX-License-Identifier: Apache-2.0
// A rank dies with a lock held, in a window copied by the kernel. Calls for the lock or the dead
// rank's memory return an error with the rank's name. The test stops mpirun, because mpirun would
// end the job.
// ranks: 3
// timeout: 20
// expect-exit: nonzero
// expect-stdout: ^both heard of it
// sanitizers: no, a process is killed
// hosts: no, what started the ranks is stopped
// transport: sm, the error is that of shared memory
#include <signal.h>
#include <unistd.h>

#include "check.h"

enum { kCount = 8192 };
static double values[kCount], memory[kCount];

static void must_name(int code) {
  CHECK_EQ(class_of(code), MPI_ERR_OTHER);
  CHECK(strstr(error_text(code), "pid ") != NULL);
}

static void be_killed(MPI_Win win) {
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (fork() == 0) {
    usleep(20000);
    kill(getppid(), SIGKILL);
    _exit(0);
  }
  for (;;) (void)MPI_Accumulate(values, kCount, MPI_DOUBLE, 0, 0, kCount, MPI_DOUBLE, MPI_SUM, win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win win;
  OK(MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  if (rank == 0) kill(getppid(), SIGSTOP);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) be_killed(win);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  must_name(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
  must_name(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  const double start = MPI_Wtime();
  int code = MPI_Accumulate(values, kCount, MPI_DOUBLE, 0, 0, kCount, MPI_DOUBLE, MPI_SUM, win);
  if (code != MPI_SUCCESS) must_name(code);
  CHECK(MPI_Wtime() - start < 1);
  OK(MPI_Win_unlock(0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win));
  must_name(MPI_Put(values, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win));
  must_name(MPI_Get(values, kCount, MPI_DOUBLE, 1, 0, kCount, MPI_DOUBLE, win));
  must_name(MPI_Accumulate(values, 9, MPI_DOUBLE, 1, 0, 9, MPI_DOUBLE, MPI_SUM, win));
  if (rank == 2) {
    OK(MPI_Send(values, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(values, 1, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    printf("both heard of it\n");
    fflush(stdout);
    kill(getppid(), SIGCONT);
  }
  for (;;) pause();  // mpirun ends the job
}
