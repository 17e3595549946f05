// SPDX-License-Identifier: Apache-2.0
// The default error handler prints rank and error, and ends the job. Earlier output is not lost.
// ranks: singleton 2
// expect-exit: nonzero
// expect-stderr: \[rank \d\] MPI_Send: dest is 1000, but MPI_COMM_WORLD .* \(MPI_ERR_RANK\)
// expect-stdout: ^printed before$
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int value = 0;
  MPI_Init(&argc, &argv);
  puts("printed before");
  MPI_Send(&value, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
  puts("the job goes on after a fatal error");
  MPI_Finalize();
  return 0;
}
