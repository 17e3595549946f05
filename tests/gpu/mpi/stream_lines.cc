// SPDX-License-Identifier: Apache-2.0
// The kernels of stream_kernel.cc where lines of LL128 are asked for: the same waits, and who is
// late or never comes is named. Lines go over NVLink alone; where some link is PCIe, where they
// would tear, no rank takes them.
// ranks: 2 3 4
// configurations: 4-peers weak pcie mps
// env: TERN_GPU_ENGINE=kernel
// env: TERN_GPU_WIRE=ll128
#include "stream_kernel.cc"
