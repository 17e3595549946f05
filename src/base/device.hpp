// SPDX-License-Identifier: Apache-2.0
// TERN_DEVICE: marks a function that kernels call; where no CUDA compiler reads it, an inline one.
#pragma once

#if defined(__CUDACC__)
#define TERN_DEVICE __device__ __forceinline__
#else
#define TERN_DEVICE inline
#endif
