// SPDX-License-Identifier: Apache-2.0
// The entries mpi_x_ call MPI_X: C tools see the calls of Fortran programs.
#define FORT(name) mpi_##name##_
#define CALL(name) MPI_##name
#include "fortran/entries.inc.h"
