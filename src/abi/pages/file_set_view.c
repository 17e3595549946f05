// SPDX-License-Identifier: Apache-2.0
// Two ranks write the columns of a matrix; rank 0 reads the rows.
// shows: File_set_view File_get_view File_write_all File_read_all File_read_at_all
// shows: File_get_byte_offset
// ranks: 2
// prints: element 2 of rank 0 is at byte 8
// prints: element 2 of rank 1 is at byte 12
// prints: rows: 0 1, 10 11, 20 21
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_set_view.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);

  const int rows = 3, columns = 2;
  MPI_Datatype column;
  MPI_Type_create_subarray(2, (int[]){rows, columns}, (int[]){rows, 1}, (int[]){0, rank},
                           MPI_ORDER_C, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_File_set_view(file, 0, MPI_INT, column, "native", MPI_INFO_NULL);
  const int numbers[] = {rank, 10 + rank, 20 + rank};
  MPI_File_write_all(file, numbers, rows, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Offset byte;
  MPI_File_get_byte_offset(file, 1, &byte);
  printf("element 2 of rank %d is at byte %d\n", rank, (int)byte);

  int again[3];
  MPI_File_read_at_all(file, 0, again, rows, MPI_INT, MPI_STATUS_IGNORE);
  if (again[2] != numbers[2]) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_File_get_view(file, &disp, &etype, &filetype, datarep);
  MPI_Type_free(&filetype);  // a copy of `column`

  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  int all[6];
  MPI_File_read_all(file, all, rank == 0 ? 6 : 0, MPI_INT, MPI_STATUS_IGNORE);  // rank 1: nothing
  if (rank == 0)
    printf("rows: %d %d, %d %d, %d %d\n", all[0], all[1], all[2], all[3], all[4], all[5]);
  MPI_Type_free(&column);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
