// SPDX-License-Identifier: Apache-2.0
// A kernel that sets a flag.
#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_dummy, MailArguments, 256, together) {
  if (threadIdx.x == 0) ptx::store_release_system(DEV(arguments.flag), arguments.value);
}

}  // namespace tern::cuda
