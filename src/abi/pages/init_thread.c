// SPDX-License-Identifier: Apache-2.0
// A program that starts threads asks for the level that they need, and looks at what it got. A
// library asks whether its program has begun already.
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
