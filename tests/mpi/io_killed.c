// SPDX-License-Identifier: Apache-2.0
// A rank dies between or inside collective calls of a file: all other ranks get
// MPI_ERR_PROC_ABORTED within seconds. The test stops mpirun, because mpirun would end the job.
// ranks: 3
// timeout: 30
// args: blocking
// waits: yes
// expect-exit: nonzero
// expect-stdout: ^both heard of it
// sanitizers: no, a process is killed
// hosts: no, what started the ranks is stopped
// transport: sm, the error is that of shared memory
// variant: exchange
//   env: TERN_IO=exchange TERN_IO_BUFFER=65536
// variant: nonblocking
//   args: nonblocking
//   env: TERN_IO=exchange TERN_IO_BUFFER=65536
// variant: split
//   args: split
// variant: ordered
//   args: ordered
// variant: sync
//   args: sync
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "io_folder.h"

enum { kBytes = 1 << 20, kMostSeconds = 5 };
static char bytes[kBytes], read_bytes[kBytes];

static void die(int signal) { raise(signal == SIGALRM ? SIGKILL : signal); }

static void wake_mpirun(void) { kill(getppid(), SIGCONT); }

static int once(MPI_File file, const char* how) {
  MPI_Request request;
  int code = MPI_SUCCESS;
  if (strcmp(how, "blocking") == 0) {
    code = MPI_File_write_at_all(file, 0, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
      code = MPI_File_read_at_all(file, 0, read_bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  } else if (strcmp(how, "nonblocking") == 0) {
    code = MPI_File_iwrite_at_all(file, 0, bytes, kBytes, MPI_BYTE, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(how, "split") == 0) {
    code = MPI_File_write_at_all_begin(file, 0, bytes, kBytes, MPI_BYTE);
    if (code == MPI_SUCCESS) code = MPI_File_write_at_all_end(file, bytes, MPI_STATUS_IGNORE);
  } else if (strcmp(how, "ordered") == 0) {
    code = MPI_File_write_ordered(file, bytes, 16, MPI_BYTE, MPI_STATUS_IGNORE);
  } else {
    code = MPI_File_sync(file);
    if (code == MPI_SUCCESS) code = MPI_File_set_size(file, 4 * kBytes);
  }
  return code;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  before_abort = wake_mpirun;
  const char* const how = argc > 1 ? argv[1] : "blocking";
  char name[256];
  name_in_folder(name, sizeof name, "/dev/shm", "io_killed");
  if (rank == 0) close(mkstemp(name));
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  MPI_File file;
  MPI_Datatype tile;
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_Type_vector(1, 64, 64, MPI_BYTE, &tile));
  OK(MPI_Type_create_resized(tile, 0, 64 * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, 64 * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  OK(once(file, how));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    unlink(name);
    kill(getppid(), SIGSTOP);
  }
  const struct itimerval soon = {{0, 0}, {0, 30000 + getpid() % 7 * 1000}};
  signal(SIGALRM, die);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 1) setitimer(ITIMER_REAL, &soon, NULL);
  int code = MPI_SUCCESS;
  const double start = MPI_Wtime();
  while (code == MPI_SUCCESS) code = once(file, how);
  const double waited = MPI_Wtime() - start;
  CHECK_EQ(class_of(code), MPI_ERR_PROC_ABORTED);
  CHECK(strstr(error_text(code), "rank 1") != NULL);
  if (waited > kMostSeconds) FAIL("the error came after %.1f s", waited);
  // Later calls fail at once.
  FAILS(once(file, how), MPI_ERR_PROC_ABORTED);
  FAILS(MPI_File_sync(file), MPI_ERR_PROC_ABORTED);
  CHECK(MPI_Wtime() - start - waited < kMostSeconds);
  if (rank == 2) {
    OK(MPI_Send(&code, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&code, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    printf("both heard of it after %.1f s\n", waited);
    fflush(stdout);
    kill(getppid(), SIGCONT);
  }
  for (;;) pause();  // mpirun ends the job
}
