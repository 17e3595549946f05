// SPDX-License-Identifier: Apache-2.0
// As rma_accumulate.c, with windows whose memory the kernel copies.
// ranks: 2 4 8
// env: TERN_RMA=copied
#include "rma_accumulate.c"
