// SPDX-License-Identifier: Apache-2.0
// A program sets a key of an info object and reads the value.
// shows: Info_create Info_set Info_get_string Info_free
// ranks: 1
// prints: the value has 3 characters: yes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "color", "red");
  char value[16];
  int length = sizeof value, there;
  MPI_Info_get_string(info, "color", &length, value, &there);
  printf("the value has %d characters: %s\n", length - 1, there && length == 4 ? "yes" : "no");
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
