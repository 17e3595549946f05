// SPDX-License-Identifier: Apache-2.0
// mpirun -initial-errhandler and -memory-alloc-kinds apply to the ranks.
// mpirun: -initial-errhandler mpi_errors_return -memory-alloc-kinds system,cuda:device
// ranks: 1 3
#include <mpi.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  int length = 64, flag = 0;
  char kinds[64] = "";
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Errhandler world, self;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &self);
  CHECK(world == MPI_ERRORS_RETURN);
  CHECK(self == MPI_ERRORS_RETURN);
  int class = MPI_SUCCESS;
  const int code = MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  MPI_Error_class(code, &class);
  CHECK(class == MPI_ERR_RANK);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  CHECK(MPI_Send(&rank, 1, MPI_INT, size, 0, copy) != MPI_SUCCESS);
  MPI_Comm_free(&copy);
  MPI_Info_get_string(MPI_INFO_ENV, "mpi_memory_alloc_kinds", &length, kinds, &flag);
  CHECK(flag && strcmp(kinds, "system,cuda:device") == 0);
  MPI_Finalize();
  CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS);
  return 0;
}
