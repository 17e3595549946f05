// SPDX-License-Identifier: Apache-2.0
// A small copy between device memory and device-visible host memory, by a thread block. A copy
// engine takes longer to start than the data to travel. The host polls a flag in host memory
// instead of calling the driver.
#include "cuda/kernels/arguments.hpp"
#include "cuda/kernels/memory.cuh"
#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {

TERN_KERNEL(tern_mail, MailArguments, 256, together) {
  char* const to = DEV(arguments.to);
  const char* const from = DEV(arguments.from);
  const int64_t step = 16 * blockDim.x;
  for (int64_t at = 16 * threadIdx.x; at < arguments.bytes; at += step) {
    const int64_t left = arguments.bytes - at;
    const int bytes = left < 16 ? static_cast<int>(left) : 16;
    const Vector value = load_some(from + at, bytes);
    if (bytes == 16 && skew(to) == 0)
      ptx::store_peer(reinterpret_cast<Vector*>(to + at), value);
    else
      store_some(to + at, value, bytes);
  }
  if (arguments.flag == nullptr) return;
  // PTX, causality order: a thread's stores precede the fence, the fence the barrier, and the
  // barrier the release of the flag. So the flag's reader sees all stores.
  ptx::fence_system();
  __syncthreads();
  if (threadIdx.x == 0) ptx::store_release_system(DEV(arguments.flag), arguments.value);
}

}  // namespace tern::cuda
