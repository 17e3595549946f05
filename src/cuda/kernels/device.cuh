// SPDX-License-Identifier: Apache-2.0
// The dialect of the kernels: the same source compiles for a GPU and, in tests, for the host.
//   TERN_KERNEL(name, Arguments, threads, alone or together) { ... arguments ... }
//             a kernel with a struct parameter, in blocks of up to `threads`. Two blocks fit an
//             SM's registers, to run beside user kernels. `together`: threads wait for each other
//   DEV(p)    wraps each pointer, from a parameter or from memory, before its first use
//   TERN_UNROLL    before a loop with constant indices, to keep arrays in registers
//   TERN_ROLLED    before a loop that must not be unrolled
//   TERN_DEVICE_CALL   a function that is not inlined
//   spin_pause()   in each loop that waits for another thread's store
//   TERN_SHARED(T, name)   the block's dynamic shared memory as an array of T
// Kernels use neither the CUDA runtime nor <<<>>>. The host's version is
// tests/softcuda/shim/device_host.hpp.
#pragma once

#include "base/device.hpp"

#if defined(__CUDACC__)

#define TERN_KERNEL(name, Arguments, threads, waits)       \
  extern "C" __global__ void __launch_bounds__(threads, 2) \
      name(const __grid_constant__ Arguments arguments)
#define TERN_DEVICE_CALL static __device__ __noinline__
#define DEV(p) (p)
#define TERN_UNROLL _Pragma("unroll")
#define TERN_ROLLED _Pragma("unroll 1")
#define TERN_SHARED(T, name)                           \
  extern __shared__ __align__(16) char name##_bytes[]; \
  T* const name = reinterpret_cast<T*>(name##_bytes)

TERN_DEVICE void spin_pause() { __nanosleep(20); }

#elif !defined(TERN_HOST_KERNELS)
#error "kernels are compiled by nvcc, or for the tests with tests/softcuda/shim/device_host.hpp"
#endif
