// SPDX-License-Identifier: Apache-2.0
// A rank is killed without a launcher. Survivors with data for or from the victim finish MPI with a
// warning.
//
// ranks: singleton
// timeout: 60
// expect-stderr: rank 2 has died
// sanitizers: no, its processes are forked and killed
#include <signal.h>

#include "boot_files.h"

enum { kVictim = 2, kFlood = 5000 };

// The dead victim is a zombie, because the parent waits for other ranks first.
static void die_after(MPI_Comm comm, int me) {
  OK(MPI_Barrier(comm));
  if (me == kVictim) raise(SIGKILL);
  sleep_ms(300);
}

static MPI_Session begin_world(int me, int members, const char* job, MPI_Comm* comm) {
  MPI_Session session;
  OK(MPIX_Boot_provide(files_boot(me, members, job)));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  *comm = comm_of(session);
  return session;
}

static void first_contact(int me, int members) {
  MPI_Comm comm;
  MPI_Session session = begin_world(me, members, "contact", &comm);
  die_after(comm, me);
  OK(MPI_Send(&me, 1, MPI_INT, kVictim, 1, comm));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void full_ring(int me, int members) {
  MPI_Comm comm;
  MPI_Session session = begin_world(me, members, "ring", &comm);
  die_after(comm, me);
  for (int i = 0; i < kFlood; ++i) {
    MPI_Request request;
    OK(MPI_Isend(&me, 1, MPI_INT, kVictim, 1, comm, &request));
    OK(MPI_Request_free(&request));
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void two_broadcasts(MPI_Comm comm) {
  MPI_Request request;
  char data[100] = "";
  OK(MPI_Ibcast(data, sizeof data, MPI_CHAR, 0, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Bcast(data, sizeof data, MPI_CHAR, 0, comm));
}

// The first broadcasts allocate the slots.
static void unread(int me, int members) {
  MPI_Comm comm;
  MPI_Session session = begin_world(me, members, "unread", &comm);
  two_broadcasts(comm);
  die_after(comm, me);
  two_broadcasts(comm);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void survive(void (*body)(int rank, int count)) {
  int statuses[3];
  fork_ranks(3, body, statuses);
  for (int r = 0; r < 3; ++r)
    if (r != kVictim) CHECK_EQ(statuses[r], 0);
  CHECK(WIFSIGNALED(statuses[kVictim]));
}

int main(void) {
  setenv("TERN_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
  make_directory();
  survive(first_contact);
  survive(full_ring);
  survive(unread);
  remove_directory();
  return 0;
}
