// SPDX-License-Identifier: Apache-2.0
// With MPI_ERRORS_RETURN the program handles an error code.
// shows: Comm_set_errhandler Error_class Error_string
// ranks: 1
// prints: the class is MPI_ERR_RANK: yes
// prints: there is a text: yes
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int value = 1;
  const int code = MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);  // there is no rank 99
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length, mpi_class;
    MPI_Error_class(code, &mpi_class);
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "%s\n", text);
    printf("the class is MPI_ERR_RANK: %s\n", mpi_class == MPI_ERR_RANK ? "yes" : "no");
    printf("there is a text: %s\n", length > 0 ? "yes" : "no");
  }
  MPI_Finalize();
  return 0;
}
