// SPDX-License-Identifier: Apache-2.0
// TERN_DEVICE marks a function for kernels (inline without a CUDA compiler), TERN_HOST_DEVICE one
// for host and kernels.
#pragma once

#if defined(__CUDACC__)
#define TERN_DEVICE __device__ __forceinline__
#define TERN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TERN_DEVICE inline
#define TERN_HOST_DEVICE inline
#endif
