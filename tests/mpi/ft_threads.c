// SPDX-License-Identifier: Apache-2.0
// With MPI_THREAD_MULTIPLE a thread waits for a dead rank, while others agree on another
// communicator and revoke a third.
// ranks: 3 4
// mpirun: --with-ft ulfm
// timeout: 60
// sanitizers: no, processes are killed
// hosts: no, the ranks of a job on several hosts end together
#include "check.h"

#include <mpix.h>
#include <pthread.h>
#include <signal.h>

enum { kRounds = 20 };
static MPI_Comm received, agreed, revoked;

static void* receive(void* unused) {
  int in;
  FAILS(MPI_Recv(&in, 1, MPI_INT, size - 1, 1, received, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
  return unused;
}

static void* wait_for_revoke(void* unused) {
  int in;
  FAILS(MPI_Recv(&in, 1, MPI_INT, rank, 1, revoked, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
  return unused;
}

int main(int argc, char** argv) {
  int provided, is_dead = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm* const all[] = {&received, &agreed, &revoked};
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, all[i]));
    OK(MPI_Comm_set_errhandler(*all[i], MPI_ERRORS_RETURN));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, receive, NULL) == 0);
  CHECK(pthread_create(&threads[1], NULL, wait_for_revoke, NULL) == 0);
  for (int round = 0; round < kRounds; ++round) {
    int flag = ~(1 << round);
    if (round == kRounds / 2 && rank == size - 1) raise(SIGKILL);
    const int code = MPIX_Comm_agree(agreed, &flag);
    if (round < kRounds / 2) CHECK_EQ(code, MPI_SUCCESS);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
    CHECK_EQ(flag, ~(1 << round));
    if (code != MPI_SUCCESS) is_dead = 1;
  }
  CHECK(is_dead);
  if (rank == 0) OK(MPIX_Comm_revoke(revoked));
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  OK(MPI_Finalize());
  return 0;
}
