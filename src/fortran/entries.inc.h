// SPDX-License-Identifier: Apache-2.0
// The text of entries.c and entries_profiled.c, compiled with FORT and CALL of each. `_f08` names
// of procedures without buffers are second names: a handle type of mpi_f08 has the memory of an
// INTEGER.
#include <stdlib.h>
#include <string.h>

#include "fortran/callbacks.h"
#include "fortran/fort.h"

#define FORT_TEXT_(x) #x
#define FORT_TEXT(x) FORT_TEXT_(x)
#define ALIAS(name, other) \
  extern __typeof(FORT(name)) FORT(other) __attribute__((alias(FORT_TEXT(FORT(name)))));

// The second names of these entries are in entries.inc.
#include "fortran/special.inc.h"
// Generated.
#include "fortran/entries.inc"
