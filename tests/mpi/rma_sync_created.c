// SPDX-License-Identifier: Apache-2.0
// As rma_sync.c, with memory of the program's own.
// ranks: 1 2 4 8
#define OWN_MEMORY
#include "rma_sync.c"
