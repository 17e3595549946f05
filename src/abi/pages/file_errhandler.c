// SPDX-License-Identifier: Apache-2.0
// A handler counts the errors of a file. Errors of MPI_File_open go to the handler of
// MPI_FILE_NULL.
// shows: File_create_errhandler File_set_errhandler File_get_errhandler File_call_errhandler
// ranks: 1
// prints: no file: MPI_ERR_NO_SUCH_FILE
// prints: not open for reading: MPI_ERR_ACCESS
// prints: the handler ran 3 times
#include <mpi.h>
#include <stdio.h>

static int runs;
static void count(MPI_File* file, int* code, ...) {
  (void)file, (void)code;
  ++runs;  // then the call returns the code
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Errhandler handler, current;
  MPI_File_create_errhandler(count, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);  // also of files opened later

  MPI_File file;
  int data = 0, mpi_class;
  int code = MPI_File_open(MPI_COMM_SELF, "no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Error_class(code, &mpi_class);
  if (mpi_class == MPI_ERR_NO_SUCH_FILE) printf("no file: MPI_ERR_NO_SUCH_FILE\n");

  MPI_File_open(MPI_COMM_SELF, "file_errhandler.data",
                MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  code = MPI_File_read_at(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Error_class(code, &mpi_class);
  if (mpi_class == MPI_ERR_ACCESS) printf("not open for reading: MPI_ERR_ACCESS\n");

  MPI_File_get_errhandler(file, &current);
  if (current == handler) MPI_File_call_errhandler(file, MPI_ERR_OTHER);
  printf("the handler ran %d times\n", runs);
  MPI_Errhandler_free(&current);
  MPI_Errhandler_free(&handler);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
