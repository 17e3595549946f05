// SPDX-License-Identifier: Apache-2.0
// A communicator of ranks with shared memory has exactly this host's ranks; a communicator of each
// host's first rank spans all hosts.
//
// shapes: 2x1 2x2 3x2
#include "../mpi/check.h"

int main(int argc, char** argv) {
  MPI_Comm here, first;
  int mine, members, sum = 0;
  begin(&argc, &argv);
  const int hosts = atoi(getenv("SHAPE")), each = size / hosts;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
  OK(MPI_Comm_size(here, &members));
  OK(MPI_Comm_rank(here, &mine));
  CHECK_EQ(members, each);
  CHECK_EQ(mine, rank % each);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, here));
  CHECK_EQ(sum, (rank - mine) * each + each * (each - 1) / 2);

  OK(MPI_Comm_split(MPI_COMM_WORLD, mine, 0, &first));
  OK(MPI_Comm_size(first, &members));
  CHECK_EQ(members, hosts);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, first));
  CHECK_EQ(sum, hosts * mine + each * hosts * (hosts - 1) / 2);
  OK(MPI_Comm_free(&first));
  OK(MPI_Comm_free(&here));
  return end();
}
