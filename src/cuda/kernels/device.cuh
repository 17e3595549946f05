// SPDX-License-Identifier: Apache-2.0
// The dialect in which the kernels are written, so that one source compiles for a GPU and, in the
// tests, for the host.
//   TERN_KERNEL(name, Arguments, threads, alone|together) { ... arguments ... }
//             a kernel of one parameter, the struct `Arguments` by value, in blocks of up to
//             `threads`, of which two fit a multiprocessor's registers: one finds a place beside
//             a user's kernel; `together` where its threads wait for one another
//   DEV(p)    each pointer, from a parameter or from memory, before its first use
//   TERN_UNROLL    before a loop whose indices must be constants, so that arrays are registers
//   TERN_ROLLED    before one that stays a loop
//   TERN_DEVICE_CALL   a function that is called, not copied into its callers
//   spin_pause()   in each loop that waits for another thread's store
//   TERN_SHARED(T, name)   the block's dynamic shared memory as an array of T
// Nothing of the CUDA runtime is used, and no launch by <<<>>>.
// See: tests/softcuda/shim/device_host.hpp (what stands here for the host).
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
