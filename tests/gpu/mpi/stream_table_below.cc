// SPDX-License-Identifier: Apache-2.0
// TERN_GPU_WIRE is above the lines of a table.
// ranks: 3
// configurations: 4-peers
// env: TERN_EXPLAIN=1
// env: TERN_GPU_WIRE=ll
#include "stream_table.cc"
