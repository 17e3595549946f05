// SPDX-License-Identifier: Apache-2.0
// Tells the MPI library the sizes and logical values of Fortran: before main, since a program in C
// may call Fortran; MPICH 5.0 refuses the calls before MPI_Init, so the Fortran entries of MPI_Init
// make them there. Programs with 8-byte default INTEGERs have a larger COMMON block, and get a
// message.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

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

// Once per process. Values set earlier stay.
void fort_describe(void) {
  static const struct {
    const char *key, *value;
  } facts[] = {{"mpi_logical_size", "4"},
               {"mpi_integer_size", "4"},
               {"mpi_real_size", "4"},
               {"mpi_double_precision_size", "8"}};
  static int done;
  if (__atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL)) return;
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

__attribute__((constructor)) static void start(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check_integers();
  if (PMPI_Get_library_version(version, &length) == MPI_SUCCESS &&
      strncmp(version, "MPICH", 5) != 0)
    fort_describe();
}
