// SPDX-License-Identifier: Apache-2.0
// Each rank writes a number into a new file, then reads the number of the next rank.
// shows: File_open File_write_at_all File_read_at File_sync File_close File_set_errhandler
// ranks: 4
// prints: rank 0 reads 10
// prints: rank 1 reads 20
// prints: rank 2 reads 30
// prints: rank 3 reads 0
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);  // an error ends the program

  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_open.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  int number = 10 * rank;
  const MPI_Offset bytes = sizeof number;  // without MPI_File_set_view, offsets count bytes
  MPI_File_write_at_all(file, rank * bytes, &number, 1, MPI_INT, MPI_STATUS_IGNORE);

  MPI_File_sync(file);  // flushes the number of this rank
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);  // shows the numbers of the others
  MPI_File_read_at(file, (rank + 1) % size * bytes, &number, 1, MPI_INT, MPI_STATUS_IGNORE);
  printf("rank %d reads %d\n", rank, number);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
