// SPDX-License-Identifier: Apache-2.0
// In atomic mode both ranks may write the same bytes: the file has the bytes of one rank.
// shows: File_set_atomicity File_get_atomicity
// ranks: 2
// prints: atomic: yes; 1000 equal numbers
#include <mpi.h>
#include <stdio.h>

enum { kCount = 1000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_atomicity.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_atomicity(file, 1);
  int numbers[kCount];
  for (int i = 0; i < kCount; ++i) numbers[i] = rank;
  MPI_File_write_at(file, 0, numbers, kCount, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);  // in atomic mode no MPI_File_sync is needed
  MPI_File_read_at(file, 0, numbers, kCount, MPI_INT, MPI_STATUS_IGNORE);
  int equal = 0, atomic;
  for (int i = 0; i < kCount; ++i) equal += numbers[i] == numbers[0];
  MPI_File_get_atomicity(file, &atomic);
  if (rank == 0) printf("atomic: %s; %d equal numbers\n", atomic ? "yes" : "no", equal);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
