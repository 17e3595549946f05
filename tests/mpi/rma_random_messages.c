// SPDX-License-Identifier: Apache-2.0
// As rma_random.c, with windows that no other rank maps: all but shared ones goes by messages.
// ranks: 2 3 4
// env: TERN_RMA=messages
#include "rma_random.c"
