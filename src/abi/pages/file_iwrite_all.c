// SPDX-License-Identifier: Apache-2.0
// Two collective writes and two collective reads are under way at once.
// shows: File_iwrite_all File_iread_all File_iwrite_at_all File_iread_at_all
// ranks: 2
// prints: rank 0 reads 0 and 10
// prints: rank 1 reads 1 and 11
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_iwrite_all.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const int first = rank, second = 10 + rank;
  int read[2];
  MPI_Request requests[2];
  MPI_File_seek(file, rank, MPI_SEEK_SET);
  MPI_File_iwrite_all(file, &first, 1, MPI_INT, &requests[0]);
  MPI_File_iwrite_at_all(file, 2 + rank, &second, 1, MPI_INT, &requests[1]);
  // ... compute, without a change of `first` and `second` ...
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  MPI_File_seek(file, rank, MPI_SEEK_SET);
  MPI_File_iread_all(file, &read[0], 1, MPI_INT, &requests[0]);
  MPI_File_iread_at_all(file, 2 + rank, &read[1], 1, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  printf("rank %d reads %d and %d\n", rank, read[0], read[1]);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
