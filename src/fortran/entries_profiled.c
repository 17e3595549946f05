// SPDX-License-Identifier: Apache-2.0
// The entries pmpi_x_ call PMPI_X, for tools in Fortran.
#define FORT(name) pmpi_##name##_
#define CALL(name) PMPI_##name
#include "fortran/entries.inc.h"
