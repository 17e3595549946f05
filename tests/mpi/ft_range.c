// SPDX-License-Identifier: Apache-2.0
// mpi_error_range: a receive between living ranks goes on with "local", and ends with "group" on a
// communicator of the dead rank, with "universe" on any. The hint also holds after the death.
// ranks: 4
// mpirun: --with-ft ulfm
// timeout: 20
// expect-stderr: The job goes on
// sanitizers: no, a process is killed
#include "check.h"

#include <mpix.h>
#include <signal.h>
#include <unistd.h>

static MPI_Comm with(MPI_Comm parent, const char* range) {
  MPI_Info info;
  MPI_Comm made;
  OK(MPI_Info_create(&info));
  if (range != NULL) OK(MPI_Info_set(info, "mpi_error_range", range));
  OK(MPI_Comm_dup_with_info(parent, info, &made));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return made;
}

static int class_of_wait(MPI_Request* request) {
  int error_class = 0;
  OK(MPI_Error_class(MPI_Wait(request, MPI_STATUS_IGNORE), &error_class));
  return error_class;
}

/* The receives of a living rank after the death of rank 3. */
static void receive(const MPI_Comm all[3], const MPI_Comm of_pair[3]) {
  MPI_Request waits[6];
  int data[6];
  const int peer = rank ^ 1, in_pair = peer % 2;
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Irecv(&data[i], 1, MPI_INT, rank < 2 ? peer : 0, 0, all[i], &waits[i]));
    OK(MPI_Irecv(&data[3 + i], 1, MPI_INT, in_pair, 0, of_pair[i], &waits[3 + i]));
  }
  if (rank == 2) {
    // The partner in the pair is dead.
    for (int i = 1; i < 3; ++i) CHECK(class_of_wait(&waits[i]) == MPIX_ERR_PROC_FAILED);
    for (int i = 3; i < 6; ++i) CHECK(class_of_wait(&waits[i]) == MPIX_ERR_PROC_FAILED);
    OK(MPI_Cancel(&waits[0]));
    OK(MPI_Wait(&waits[0], MPI_STATUS_IGNORE));
  } else {
    CHECK(class_of_wait(&waits[1]) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of_wait(&waits[2]) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of_wait(&waits[5]) == MPIX_ERR_PROC_FAILED);
    OK(MPI_Send(&rank, 1, MPI_INT, peer, 0, all[0]));
    OK(MPI_Send(&rank, 1, MPI_INT, in_pair, 0, of_pair[0]));
    OK(MPI_Send(&rank, 1, MPI_INT, in_pair, 0, of_pair[1]));
    OK(MPI_Wait(&waits[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&waits[3], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&waits[4], MPI_STATUS_IGNORE));
    CHECK(data[0] == peer && data[3] == peer && data[4] == peer);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm pair, all[3], of_pair[3], late;
  MPI_Info info;
  const char* const ranges[] = {"local", "group", "universe"};
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair));
  for (int i = 0; i < 3; ++i) {
    all[i] = with(MPI_COMM_WORLD, ranges[i]);
    of_pair[i] = with(pair, ranges[i]);
  }
  late = with(MPI_COMM_WORLD, NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_error_range", "everyone"));
  int error_class = 0;
  MPI_Error_class(MPI_Comm_set_info(late, info), &error_class);
  CHECK(error_class == MPI_ERR_INFO_VALUE);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 3) raise(SIGKILL);
  receive(all, of_pair);
  OK(MPI_Info_set(info, "mpi_error_range", "group"));
  OK(MPI_Comm_set_info(late, info));
  MPI_Error_class(MPI_Send(&rank, 1, MPI_INT, rank, 0, late), &error_class);
  CHECK(error_class == MPIX_ERR_PROC_FAILED);
  OK(MPI_Info_free(&info));
  // These calls still work on a communicator that a death has ended.
  int flag = 1, members = 0;
  MPI_Comm living;
  OK(MPIX_Comm_shrink(all[2], &living));
  OK(MPI_Comm_size(living, &members));
  CHECK(members == 3 && flag == 1);
  OK(MPI_Barrier(living));
  OK(MPI_Comm_free(&living));
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Comm_free(&all[i]));
    OK(MPI_Comm_free(&of_pair[i]));
  }
  OK(MPI_Comm_free(&late));
  OK(MPI_Comm_free(&pair));
  return end();
}
