// SPDX-License-Identifier: Apache-2.0
// Driver: the functions of libcuda.so.1, once the application has loaded the library.
// Why: a single build serves machines with and without GPUs. Lifetime: the process. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cuda/api.hpp"
#include "cuda/functions.hpp"

namespace tern::cuda {

struct Driver {
#define TERN_CUDA_ROW(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  TERN_CUDA_FUNCTIONS(TERN_CUDA_ROW, TERN_CUDA_ROW)
#undef TERN_CUDA_ROW
  int version = 0;
};

/// Returns null before the application loads libcuda, for an old libcuda, and in a forked child.
/// Cheap enough for every buffer.
[[nodiscard]] const Driver* driver() noexcept;

/// Returns a loaded driver without all required functions, usable only for pointer attributes; else
/// null.
[[nodiscard]] const Driver* unusable_driver() noexcept;

[[nodiscard]] int first_version_of(std::string_view function) noexcept;
[[nodiscard]] std::string lacks_in_words(const Driver& driver, const char* function);
/// Returns missing optional functions with versions: "cuFuncLoad (12.4)".
[[nodiscard]] std::vector<std::string> missing_functions(const Driver& driver);

/// Returns "12.4", or why the driver is unusable.
[[nodiscard]] std::string driver_in_words();
/// Loads libcuda if installed. Only for tools, which own no device memory.
void load_driver() noexcept;

[[nodiscard]] std::string words_of(const char* function, CUresult result);

}  // namespace tern::cuda
