/* SPDX-License-Identifier: Apache-2.0
   The header of Open MPI's extensions, for programs that use ULFM; the names are in mpix.h. */
#ifndef MPI_EXT_H_TERN
#define MPI_EXT_H_TERN

#include <mpix.h>

#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_REVOKE 1
#define OMPI_HAVE_MPIX_COMM_SHRINK 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1
#define OMPI_HAVE_MPIX_COMM_AGREE 1

#endif
