// SPDX-License-Identifier: Apache-2.0
// As rma_target_computes.c, with no thread that moves messages: nothing of the target's helps.
// ranks: 2
// full-ranks: 4
// timeout: 30
// env: TERN_PROGRESS=calls TERN_EXPLAIN=1
// expect-stderr: of its [24] ranks are reached in shared memory, [13] by copies.*, 0 by messages
// hosts: no, other hosts need the target's help
// transport: sm, as other hosts do
#include "rma_target_computes.c"
