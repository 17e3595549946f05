// SPDX-License-Identifier: Apache-2.0
// Three ranks append to a log in any order, then in the order of ranks. Then each rank reads a
// line.
// shows: File_write_shared File_read_shared File_write_ordered File_read_ordered File_seek_shared
// shows: File_get_position_shared
// ranks: 3
// prints: the log has 36 bytes
// prints: rank 0 reads line 0
// prints: rank 1 reads line 1
// prints: rank 2 reads line 2
// prints: shared reads got 18 bytes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_shared.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  char line[7];
  snprintf(line, sizeof line, "note%d\n", rank);
  MPI_File_write_shared(file, line, 6, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(line, sizeof line, "line%d\n", rank);
  MPI_File_write_ordered(file, line, 6, MPI_CHAR, MPI_STATUS_IGNORE);

  MPI_Offset end;
  MPI_File_get_position_shared(file, &end);
  if (rank == 0) printf("the log has %d bytes\n", (int)end);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);

  MPI_File_seek_shared(file, 3 * 6, MPI_SEEK_SET);
  MPI_File_read_ordered(file, line, 6, MPI_CHAR, MPI_STATUS_IGNORE);
  printf("rank %d reads line %c\n", rank, line[4]);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_Status status;
  int bytes;
  MPI_File_read_shared(file, line, 6, MPI_CHAR, &status);  // any of the first three lines
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("shared reads got %d bytes\n", bytes);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
