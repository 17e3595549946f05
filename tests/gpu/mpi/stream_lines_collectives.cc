// SPDX-License-Identifier: Apache-2.0
// The collectives of stream_collectives.cc by lines of LL128 where they can be, and where they are
// asked for and cannot be.
// ranks: 1 2 3 4
// configurations: 1 4-peers weak pcie mps
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=ll128
// timeout: 120
#include "stream_collectives.cc"
