// SPDX-License-Identifier: Apache-2.0
// As rma_random.c, with windows whose memory the kernel copies, but for shared ones.
// ranks: 2 3 4
// env: TERN_RMA=copied
#include "rma_random.c"
