// SPDX-License-Identifier: Apache-2.0
// stream_multicast.cc where the switch is asked for.
// ranks: 1 2 3 4
// configurations: 4-peers
// env: TERN_GPU_WIRE=multimem
// env: TERN_EXPLAIN=1
// timeout: 120
#include "stream_multicast.cc"
