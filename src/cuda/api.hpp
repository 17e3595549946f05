// SPDX-License-Identifier: Apache-2.0
// Declares the part of the CUDA driver API that Tern uses.
//
// Why: the build needs no toolkit; addresses come from the driver at run time.
// See: cuda/functions.hpp (the list).
#pragma once
#include "cuda/functions.hpp"
#include "cuda/structs.hpp"
#include "cuda/types.hpp"

extern "C" {
#define TERN_CUDA_DECLARE(name, ...) CUresult name(__VA_ARGS__);
TERN_CUDA_FUNCTIONS(TERN_CUDA_DECLARE, TERN_CUDA_DECLARE)
#undef TERN_CUDA_DECLARE
}
