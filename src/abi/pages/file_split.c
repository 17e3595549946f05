// SPDX-License-Identifier: Apache-2.0
// Split collective operations, one after the other, leave time to compute between begin and end.
// shows: File_write_at_all_begin File_write_at_all_end File_read_at_all_begin
// shows: File_read_at_all_end
// shows: File_write_all_begin File_write_all_end File_read_all_begin File_read_all_end
// shows: File_write_ordered_begin File_write_ordered_end File_read_ordered_begin
// shows: File_read_ordered_end
// ranks: 2
// prints: rank 0 reads 0 20 40
// prints: rank 1 reads 10 30 50
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_split.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);

  const int numbers[] = {10 * rank, 20 + 10 * rank, 40 + 10 * rank};
  int read[3];
  MPI_File_write_at_all_begin(file, rank, &numbers[0], 1, MPI_INT);  // to elements 0 and 1
  // ... compute ...
  MPI_File_write_at_all_end(file, &numbers[0], MPI_STATUS_IGNORE);
  MPI_File_seek(file, 2 + rank, MPI_SEEK_SET);
  MPI_File_write_all_begin(file, &numbers[1], 1, MPI_INT);  // to elements 2 and 3
  MPI_File_write_all_end(file, &numbers[1], MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 4, MPI_SEEK_SET);
  MPI_File_write_ordered_begin(file, &numbers[2], 1, MPI_INT);  // to elements 4 and 5
  MPI_File_write_ordered_end(file, &numbers[2], MPI_STATUS_IGNORE);

  MPI_File_read_at_all_begin(file, rank, &read[0], 1, MPI_INT);
  MPI_File_read_at_all_end(file, &read[0], MPI_STATUS_IGNORE);
  MPI_File_seek(file, 2 + rank, MPI_SEEK_SET);
  MPI_File_read_all_begin(file, &read[1], 1, MPI_INT);
  MPI_File_read_all_end(file, &read[1], MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 4, MPI_SEEK_SET);
  MPI_File_read_ordered_begin(file, &read[2], 1, MPI_INT);
  MPI_File_read_ordered_end(file, &read[2], MPI_STATUS_IGNORE);
  printf("rank %d reads %d %d %d\n", rank, read[0], read[1], read[2]);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
