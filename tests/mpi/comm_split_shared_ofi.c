// SPDX-License-Identifier: Apache-2.0
// comm_split_shared.c without a transport in shared memory.
// ranks: 2 4
// env: TERN_TRANSPORT=ofi
#include "comm_split_shared.c"
