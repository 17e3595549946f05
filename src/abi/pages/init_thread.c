// SPDX-License-Identifier: Apache-2.0
// A program with threads requests a level of thread support and checks the result. A library tests
// whether MPI is initialised.
// shows: Init_thread Initialized Finalized Query_thread
// ranks: 1
// prints: initialized: no
// prints: initialized: yes, threads may call MPI at any time: yes
// prints: finalized: yes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int initialized, level, finalized;
  MPI_Initialized(&initialized);
  printf("initialized: %s\n", initialized ? "yes" : "no");
  if (!initialized) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Initialized(&initialized);
  MPI_Query_thread(&level);
  printf("initialized: %s, threads may call MPI at any time: %s\n", initialized ? "yes" : "no",
         level >= MPI_THREAD_MULTIPLE ? "yes" : "no");
  MPI_Finalize();
  MPI_Finalized(&finalized);
  printf("finalized: %s\n", finalized ? "yes" : "no");
  return 0;
}
