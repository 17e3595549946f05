// SPDX-License-Identifier: Apache-2.0
// MPI_Alloc_mem by kind without a CUDA driver: host memory, or a clear error.
// ranks: 1
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Info info;
  void* memory = NULL;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device"));
  const int code = MPI_Alloc_mem(100, info, &memory);
  char text[MPI_MAX_ERROR_STRING];
  int length, error_class;
  CHECK(code != MPI_SUCCESS);
  OK(MPI_Error_class(code, &error_class));
  OK(MPI_Error_string(code, text, &length));
  CHECK_EQ(error_class, MPI_ERR_OTHER);
  if (strstr(text, "no CUDA driver is usable") == NULL) FAIL("the error says \"%s\"", text);
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device,mpi:alloc_mem"));
  OK(MPI_Alloc_mem(100, info, &memory));
  memset(memory, 1, 100);
  OK(MPI_Free_mem(memory));
  OK(MPI_Info_free(&info));
  return end();
}
