/* SPDX-License-Identifier: Apache-2.0
 * Prints every rank and its host, in rank order.
 * expect-stdout: Hello from rank 0 of \d+ on */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kLineTag = 1 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length;
  char host[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  MPI_Get_library_version(library, &length);

  char line[MPI_MAX_PROCESSOR_NAME + 64];
  snprintf(line, sizeof line, "Hello from rank %d of %d on %s", rank, size, host);

  /* Output of several processes may interleave, so rank 0 prints all lines. */
  if (rank != 0) {
    MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, 0, kLineTag, MPI_COMM_WORLD);
  } else {
    puts(line);
    for (int source = 1; source < size; ++source) {
      MPI_Recv(line, (int)sizeof line, MPI_CHAR, source, kLineTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      puts(line);
    }
    printf("Library: %.*s\n", (int)strcspn(library, "\n"), library);
  }
  MPI_Finalize();
  return 0;
}
