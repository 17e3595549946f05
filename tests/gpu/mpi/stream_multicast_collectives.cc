// SPDX-License-Identifier: Apache-2.0
// The collectives of stream_collectives.cc through the switch where they can be, and where that is
// asked for and cannot be.
// ranks: 1 2 3 4
// configurations: 1 4-peers 2-apart mps
// env: TERN_GPU_WIRE=multimem
// timeout: 120
#include "stream_collectives.cc"
