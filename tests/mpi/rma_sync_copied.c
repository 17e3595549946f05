// SPDX-License-Identifier: Apache-2.0
// As rma_sync.c, with windows whose memory the kernel copies.
// ranks: 2 4 8
// env: TERN_RMA=copied
#include "rma_sync.c"
