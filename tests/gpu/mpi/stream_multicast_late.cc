// SPDX-License-Identifier: Apache-2.0
// stream_kernel.cc through the switch: one launch each, a rank that is late is named and may still
// come, one that refuses lets the others' kernels go, and one that never comes is named.
// ranks: 2 3 4
// configurations: 4-peers
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=multimem
#include "stream_kernel.cc"
