// SPDX-License-Identifier: Apache-2.0
// Driver: the functions of libcuda.so.1, where the application has brought it to life.
// Why: one build serves machines with and without GPUs; the library never links CUDA, and never
// loads or initialises it: a process that has not loaded libcuda itself owns no device memory.
// Lifetime: the process (once found it stays loaded). Threads: any.
// See: cuda/functions.hpp (the rows), src/cuda/README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda/api.hpp"
#include "cuda/functions.hpp"

namespace tern::cuda {

/// The table of driver functions. Required rows are never null; optional ones are in old drivers.
struct Driver {
#define TERN_CUDA_ROW(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  TERN_CUDA_FUNCTIONS(TERN_CUDA_ROW, TERN_CUDA_ROW)
#undef TERN_CUDA_ROW
  int version = 0;  // of the CUDA that it supports: 12040 is 12.4
};

/// Null where the application has not loaded libcuda, where it is too old, and in a forked child
/// (the driver does not work there). Cheap: asked at every address that may be a device's.
[[nodiscard]] const Driver* driver() noexcept;

/// A driver that the application has loaded and that driver() does not give, since it lacks
/// functions: it may be asked for attributes of pointers, and nothing else. Null of any other.
[[nodiscard]] const Driver* unusable_driver() noexcept;

/// The version of CUDA in which a row of the table appeared, 12000 at least.
[[nodiscard]] int first_version_of(std::string_view function) noexcept;
/// "the driver, for CUDA 12.0, has no cuFuncLoad: that needs a driver for CUDA 12.4"
[[nodiscard]] std::string lacks_in_words(const Driver& driver, const char* function);
/// Optional rows that the driver lacks, each with the version that has it: "cuFuncLoad (12.4)".
[[nodiscard]] std::vector<std::string> missing_functions(const Driver& driver);

/// "12.4", or why there is no driver: for tools.
[[nodiscard]] std::string driver_in_words();
/// For tools, which own no device memory: loads libcuda where it is installed.
void load_driver() noexcept;

/// "cuMemcpyAsync: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
[[nodiscard]] std::string words_of(const char* function, CUresult result);

}  // namespace tern::cuda
