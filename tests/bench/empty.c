// SPDX-License-Identifier: Apache-2.0
// The empty job: the run time of `mpirun empty` is the cost of start and end.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
