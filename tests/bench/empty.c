// SPDX-License-Identifier: Apache-2.0
// The empty job: what `mpirun` of it takes, seen from outside, is the cost of starting and ending.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
