// SPDX-License-Identifier: Apache-2.0
// A session waits for no other process. Messages of a rank arrive after its exit from MPI.
// ranks: 1 2 3 4 7
// timeout: 30
#include <unistd.h>

#include "check.h"

static MPI_Session open_session(void) {
  MPI_Session session;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  return session;
}

static MPI_Comm comm_of(MPI_Session session, int members, const char* tag) {
  MPI_Group all, some;
  MPI_Comm comm;
  int range[1][3] = {{0, members - 1, 1}};
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  OK(MPI_Group_rank(all, &rank));
  OK(MPI_Group_size(all, &size));
  OK(MPI_Group_range_incl(all, 1, range, &some));
  OK(MPI_Comm_create_from_group(some, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&all));
  return comm;
}

static void alone(void) {
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session, 1, "alone");
  int in = 0, out = 7;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(in, 7);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
}

static void one_leaves_early(int me) {
  static char large[100000];
  MPI_Session session, kept = MPI_SESSION_NULL;
  if (me == 1) usleep(100000);
  if (me == 1) kept = open_session();
  for (int round = 0; round < 5; ++round) {
    session = open_session();
    MPI_Comm comm = comm_of(session, 2, "pair");
    if (me == round % 2) {
      fill(large, 3000, (unsigned)round);
      OK(MPI_Send(large, 3000, MPI_BYTE, 1 - me, round, comm));
    } else {
      usleep(50000);
      OK(MPI_Recv(large, sizeof large, MPI_BYTE, 1 - me, round, comm, MPI_STATUS_IGNORE));
      CHECK_FILLED(large, 3000, (unsigned)round);
    }
    if (round == 2) {
      int one = 1, sum = 0;
      OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK_EQ(sum, 2);
    }
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
  }
  if (me == 1) OK(MPI_Session_finalize(&kept));
}

int main(void) {
  const char* number = getenv("PMIX_RANK");
  const char* ranks = getenv("OMPI_COMM_WORLD_SIZE");
  const int me = number == NULL ? 0 : atoi(number), of = ranks == NULL ? 1 : atoi(ranks);
  if (of > 2 && me == of - 1) return 0;
  if (me == 0) alone();
  if (of > 1 && me < 2) one_leaves_early(me);
  if (me == 0) alone();
  return 0;
}
