// SPDX-License-Identifier: Apache-2.0
// The entries pmpi_x_ for tools written in Fortran: they call PMPI_X.
#define FORT(name) pmpi_##name##_
#define CALL(name) PMPI_##name
#include "fortran/entries.inc.h"
