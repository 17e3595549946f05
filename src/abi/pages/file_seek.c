// SPDX-License-Identifier: Apache-2.0
// A rank writes with the individual file pointer, moves the pointer, and reads to the end.
// shows: File_write File_read File_seek File_get_position File_write_at File_delete
// ranks: 1
// prints: after writing: 12
// prints: 2 numbers: 20 31
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "file_seek.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  const int numbers[] = {10, 20, 30}, other = 31;
  MPI_Offset position;
  MPI_File_write(file, numbers, 3, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_get_position(file, &position);
  printf("after writing: %d\n", (int)position);
  MPI_File_write_at(file, 8, &other, 1, MPI_INT, MPI_STATUS_IGNORE);  // does not move the pointer

  int read[10], count;
  MPI_Status status;
  MPI_File_seek(file, -8, MPI_SEEK_END);
  MPI_File_read(file, read, 10, MPI_INT, &status);
  MPI_Get_count(&status, MPI_INT, &count);  // fewer than 10: the file ended
  printf("%d numbers: %d %d\n", count, read[0], read[1]);
  MPI_File_close(&file);
  MPI_File_delete("file_seek.data", MPI_INFO_NULL);
  MPI_Finalize();
  return 0;
}
