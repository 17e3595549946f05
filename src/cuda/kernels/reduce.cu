// SPDX-License-Identifier: Apache-2.0
// Reductions of up to 16 vectors in one pass: a kernel per type, with the operation as an argument.
// Why: choosing the operation per 16 bytes is free beside memory, and keeps the code small.
#include "cuda/kernels/reduce.cuh"

namespace tern::cuda {

#define TERN_REDUCE_KERNEL(suffix, type, ...)                                            \
  TERN_KERNEL(tern_reduce_##suffix, SpreadArguments, 256, alone) {                       \
    constexpr int kVectors = 4;                                                          \
    reduce<kVectors, TERN_REDUCE_ELEMENT(suffix, type), type, __VA_ARGS__>(              \
        arguments.reduction, {arguments.others, arguments.also}, blockIdx.x, gridDim.x); \
  }
TERN_REDUCE_KERNELS(TERN_REDUCE_KERNEL)

}  // namespace tern::cuda
