// SPDX-License-Identifier: Apache-2.0
// Settings of a Fortran compiler: the first setter wins; equal values pass, others are an error.
// ranks: 1
#include <mpi.h>

#include "check.h"

static int set_sizes(const char* logical_size) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_logical_size", logical_size);
  MPI_Info_set(info, "mpi_real_size", "4");
  const int code = MPI_Abi_set_fortran_info(info);
  MPI_Info_free(&info);
  return code;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int yes = 1, no = 0, other = -1, is_set = 1;
  short short_yes = 1, short_no = 0;
  CHECK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) == MPI_SUCCESS && !is_set);
  CHECK(set_sizes("4") == MPI_SUCCESS);
  CHECK(set_sizes("4") == MPI_SUCCESS);
  CHECK(class_of(set_sizes("8")) == MPI_ERR_ABI);
  MPI_Info info;
  MPI_Info_create(&info);
  CHECK(class_of(MPI_Abi_set_fortran_info(info)) == MPI_ERR_ABI);
  MPI_Info_free(&info);
  CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_SUCCESS);
  CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_SUCCESS);
  CHECK(class_of(MPI_Abi_set_fortran_booleans(4, &other, &no)) == MPI_ERR_ABI);
  CHECK(class_of(MPI_Abi_set_fortran_booleans(2, &short_yes, &short_no)) == MPI_ERR_ABI);
  CHECK(class_of(MPI_Abi_set_fortran_booleans(3, &yes, &no)) == MPI_ERR_ARG);
  yes = no = 7;
  CHECK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) == MPI_SUCCESS && is_set && yes == 1 &&
        no == 0);
  MPI_Finalize();
  return 0;
}
