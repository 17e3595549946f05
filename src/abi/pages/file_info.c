// SPDX-License-Identifier: Apache-2.0
// Hints of a file: collective writes without an exchange of data between ranks.
// shows: File_set_info File_get_info
// ranks: 2
// prints: romio_cb_write is disable
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "file_perm", "0600");  // has an effect in MPI_File_open alone
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, "file_info.data",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file);
  MPI_Info_set(info, "romio_cb_write", "disable");
  MPI_File_set_info(file, info);

  char value[MPI_MAX_INFO_VAL];
  int length = sizeof value, known;
  MPI_File_get_info(file, &used);
  MPI_Info_get_string(used, "romio_cb_write", &length, value, &known);
  if (rank == 0) printf("romio_cb_write is %s\n", known ? value : "unknown");
  MPI_Info_free(&info);
  MPI_Info_free(&used);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
