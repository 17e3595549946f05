// SPDX-License-Identifier: Apache-2.0
// As rma_accumulate.c, with memory of the program's own.
// ranks: 1 2 4 8
#define OWN_MEMORY
#include "rma_accumulate.c"
