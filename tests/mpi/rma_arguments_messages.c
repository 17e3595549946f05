// SPDX-License-Identifier: Apache-2.0
// As rma_arguments.c, with windows that no other rank maps: all goes by messages.
// ranks: 2
// env: TERN_RMA=messages
#include "rma_arguments.c"
