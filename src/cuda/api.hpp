// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that Tern uses, declared: types and functions as exported.
//
// Why: no toolkit is needed to build; addresses come from the driver that is there at run time.
// See: cuda/functions.hpp (the list), tests/unit/cuda/api_test.cc (it agrees with cuda.h).
#pragma once
#include "cuda/functions.hpp"
#include "cuda/structs.hpp"
#include "cuda/types.hpp"

extern "C" {
#define TERN_CUDA_DECLARE(name, ...) CUresult name(__VA_ARGS__);
TERN_CUDA_FUNCTIONS(TERN_CUDA_DECLARE, TERN_CUDA_DECLARE)
#undef TERN_CUDA_DECLARE
}
