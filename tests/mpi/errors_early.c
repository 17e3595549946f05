// SPDX-License-Identifier: Apache-2.0
// A call before MPI_Init prints an error and ends the process.
// ranks: singleton
// expect-exit: nonzero
// expect-stderr: MPI_Barrier: called before MPI_Init
#include <mpi.h>

int main(void) { return MPI_Barrier(MPI_COMM_WORLD) - MPI_Barrier(MPI_COMM_WORLD); }
