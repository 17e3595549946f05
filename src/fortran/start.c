// SPDX-License-Identifier: Apache-2.0
// Before main: tells the MPI library the sizes and logical values of Fortran. Values set earlier
// stay. A program compiled with 8-byte default INTEGERs gets a message: its COMMON block is larger.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>

#include "fortran/fort.h"

static void check_integers(void) {
  Dl_info info;
  const ElfW(Sym)* symbol = NULL;
  if (!dladdr1(&mpifort_sentinels_, &info, (void**)&symbol, RTLD_DL_SYMENT) || !symbol) return;
  if (symbol->st_size <= sizeof mpifort_sentinels_) return;
  fprintf(stderr,
          "MPI (Fortran): %s was compiled with default INTEGERs of 8 bytes (-fdefault-integer-8, "
          "-i8), but MPI's INTEGERs have 4. "
          "Compile without this flag, or `use mpi` and pass integer(4).\n",
          info.dli_fname ? info.dli_fname : "the program");
}

__attribute__((constructor)) static void start(void) {
  static const struct {
    const char *key, *value;
  } facts[] = {{"mpi_logical_size", "4"},
               {"mpi_integer_size", "4"},
               {"mpi_real_size", "4"},
               {"mpi_double_precision_size", "8"}};
  check_integers();
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL &&
      PMPI_Info_create(&info) == MPI_SUCCESS) {
    for (size_t i = 0; i < sizeof facts / sizeof *facts; ++i)
      PMPI_Info_set(info, facts[i].key, facts[i].value);
    PMPI_Abi_set_fortran_info(info);
  }
  if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
  int yes = 1, no = 0, old_yes, old_no, is_set = 1;
  if (PMPI_Abi_get_fortran_booleans(sizeof yes, &old_yes, &old_no, &is_set) == MPI_SUCCESS &&
      !is_set)
    PMPI_Abi_set_fortran_booleans(sizeof yes, &yes, &no);
}
