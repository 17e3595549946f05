// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=collective with a returning error handler: different calls fail on all ranks, and a
// copy of the communicator works.
// ranks: 2 4 5
// env: TERN_CHECK=collective
#include "check.h"

static MPI_Comm comm;

static void end_by_its_copy(void) {
  MPI_Comm copy;
  int sum = 0;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Barrier(copy));
  comm = copy;
}

int main(int argc, char** argv) {
  static int in[4000], out[4000];
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int victim = 0; victim < size; ++victim) {
    const int bad = rank == victim;
    CHECK(MPI_Allreduce(in, out, bad ? 7 : 8, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS);
    end_by_its_copy();
    CHECK(MPI_Bcast(in, 3000, MPI_INT, bad ? (victim + 1) % size : victim, comm) != MPI_SUCCESS);
    end_by_its_copy();
    const int code = bad ? MPI_Barrier(comm) : MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
    CHECK(code != MPI_SUCCESS);
    end_by_its_copy();
  }
  OK(MPI_Comm_free(&comm));
  return end();
}
