// SPDX-License-Identifier: Apache-2.0
// Two ranks set the size of a file and reserve disk space.
// shows: File_set_size File_preallocate File_get_size File_get_amode File_get_group
// ranks: 2
// prints: 100 bytes, then 4096, for 2 ranks
// prints: the file is new: yes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_size.data",
                MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_Offset cut, reserved;
  MPI_File_set_size(file, 100);
  MPI_File_get_size(file, &cut);
  MPI_Barrier(MPI_COMM_WORLD);  // both ranks have the size of 100 bytes
  MPI_File_preallocate(file, 4096);
  MPI_File_get_size(file, &reserved);

  int amode, ranks;
  MPI_Group group;
  MPI_File_get_amode(file, &amode);
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &ranks);
  if (rank == 0) {
    printf("%d bytes, then %d, for %d ranks\n", (int)cut, (int)reserved, ranks);
    printf("the file is new: %s\n", (amode & MPI_MODE_CREATE) != 0 ? "yes" : "no");
  }
  MPI_Group_free(&group);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
