// SPDX-License-Identifier: Apache-2.0
// A rank of another host dies while the ranks use a file: the other ranks get MPI_ERR_PROC_ABORTED,
// and no call waits. The argument is the phase; the test stops mpirun, because mpirun would end the
// job.
// ranks: 3
// timeout: 40
// args: collective
// env: TERN_NET_TIMEOUT=6s TERN_TRANSPORT=ofi
// waits: yes
// expect-exit: nonzero
// expect-stdout: ^all have heard
// sanitizers: no, a process is killed
// hosts: no, the launcher is stopped
// variant: first
//   args: collective 0
// variant: nonblocking
//   args: nonblocking
// variant: ordered
//   args: ordered
// variant: pointer
//   Rank 0 keeps the shared pointer.
//   args: pointer 0
// variant: range
//   A rank dies with a range in atomic mode: the other ranks continue.
//   args: range
// variant: close
//   args: close
// variant: ucx
//   env: TERN_NET_TIMEOUT=6s TERN_TRANSPORT=ucx
#include <signal.h>
#include <unistd.h>

#include "check.h"

static MPI_File file;
static char name[64];
static int victim;

static void remove_file(void) { unlink(name); }

static int call(const char* phase) {
  static int data[100000];
  MPI_Request request;
  if (strcmp(phase, "collective") == 0)
    return MPI_File_write_at_all(file, rank * 400000, data, 100000, MPI_INT, MPI_STATUS_IGNORE);
  if (strcmp(phase, "ordered") == 0)
    return MPI_File_write_ordered(file, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  if (strcmp(phase, "pointer") == 0)
    return MPI_File_write_shared(file, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  if (strcmp(phase, "range") == 0)
    return MPI_File_write_at(file, 0, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  if (strcmp(phase, "close") == 0) return MPI_File_close(&file);
  const int code = MPI_File_iwrite_at_all(file, 0, data, 100000, MPI_INT, &request);
  return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const phase = argv[1];
  victim = argc > 2 ? atoi(argv[2]) : size - 1;
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (rank == victim) snprintf(name, sizeof name, "io_killed.%d", (int)getpid());
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, victim, MPI_COMM_WORLD));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  remove_file();
  const int ranges = strcmp(phase, "range") == 0;
  if (ranges) OK(MPI_File_set_atomicity(file, 1));
  for (int i = 0; i < 3 && strcmp(phase, "close") != 0; ++i) OK(call(phase));
  const int reporter = victim == 0 ? size - 1 : 0;
  if (rank == reporter) kill(getppid(), SIGSTOP);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == victim) {
    if (ranges) {
      // This rank dies with the range, or before the first meeting.
      MPI_Request request;
      static char data[8 << 20];
      OK(MPI_File_iwrite_at_all(file, 0, data, (int)sizeof data, MPI_BYTE, &request));
    }
    raise(SIGKILL);
  }
  const double start = MPI_Wtime();
  if (ranges) {
    OK(call(phase));
  } else {
    int code = MPI_SUCCESS;
    for (int i = 0; i < 100 && code == MPI_SUCCESS; ++i) code = call(phase);
    CHECK_EQ(class_of(code), MPI_ERR_PROC_ABORTED);
    // The second error comes at once.
    if (strcmp(phase, "close") != 0) CHECK_EQ(class_of(call(phase)), MPI_ERR_PROC_ABORTED);
  }
  if (file != MPI_FILE_NULL) CHECK_EQ(class_of(MPI_File_close(&file)), MPI_ERR_PROC_ABORTED);
  CHECK(MPI_Wtime() - start < 25);
  // Reports to the reporter.
  if (rank == reporter) {
    for (int i = 0; i < size; ++i)
      if (i != rank && i != victim)
        OK(MPI_Recv(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    printf("all have heard\n");
    fflush(stdout);
    kill(getppid(), SIGCONT);
  } else {
    OK(MPI_Send(NULL, 0, MPI_INT, reporter, 1, MPI_COMM_WORLD));
  }
  sleep(30);  // mpirun ends the job
  return 0;
}
