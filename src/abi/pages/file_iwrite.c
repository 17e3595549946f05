// SPDX-License-Identifier: Apache-2.0
// Transfers run while the rank computes.
// shows: File_iwrite_at File_iread_at File_iwrite File_iread File_iwrite_shared File_iread_shared
// ranks: 1
// prints: read 1 2 3
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, "file_iwrite.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const int written[3] = {1, 2, 3};
  int read[3];
  MPI_Request requests[3];
  MPI_File_iwrite(file, &written[0], 1, MPI_INT, &requests[0]);        // to element 0
  MPI_File_iwrite_at(file, 1, &written[1], 1, MPI_INT, &requests[1]);  // to element 1
  MPI_File_seek_shared(file, 2, MPI_SEEK_SET);
  MPI_File_iwrite_shared(file, &written[2], 1, MPI_INT, &requests[2]);  // to element 2
  // ... compute, without a change of `written` ...
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);

  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_seek_shared(file, 2, MPI_SEEK_SET);
  MPI_File_iread(file, &read[0], 1, MPI_INT, &requests[0]);
  MPI_File_iread_at(file, 1, &read[1], 1, MPI_INT, &requests[1]);
  MPI_File_iread_shared(file, &read[2], 1, MPI_INT, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  printf("read %d %d %d\n", read[0], read[1], read[2]);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
