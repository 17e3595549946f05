// SPDX-License-Identifier: Apache-2.0
// The collectives of stream_collectives.cc where kernels come first: on devices of their own, on
// one that MPS shares, and where memory is in order only as far as kernels ask for it.
// ranks: 1 2 3 4
// configurations: 1 4-peers weak mps
// env: TERN_GPU_ENGINE=kernel
// timeout: 120
#include "stream_collectives.cc"
