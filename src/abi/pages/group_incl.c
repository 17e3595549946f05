// SPDX-License-Identifier: Apache-2.0
// Ranks 2 and 0 get their own communicator, in this order.
// shows: Comm_group Group_incl Comm_create Group_free Group_rank
// ranks: 3
// prints: rank 0 has no. 1 of the group
// prints: rank 1 is not in the group
// prints: rank 2 has no. 0 of the group
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, place;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int members[2] = {2, 0};
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, members, &group);
  MPI_Group_rank(group, &place);
  MPI_Comm part;
  MPI_Comm_create(MPI_COMM_WORLD, group, &part);  // all ranks call it
  if (part == MPI_COMM_NULL) {
    printf("rank %d is not in the group\n", rank);
  } else {
    printf("rank %d has no. %d of the group\n", rank, place);
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Finalize();
  return 0;
}
