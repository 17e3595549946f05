// SPDX-License-Identifier: Apache-2.0
// The embedded kernel images, if any. An older toolkit may add a second image for older GPUs
// (configure --with-cuda-legacy).
#pragma once

#include <span>
#include <string>

namespace tern::cuda {

struct KernelImage {
  const void* code;
  const char* words;  // "kernels for 75 80 90 100 120 (PTX 100), nvcc 13.0.88"
};

/// Returns the images in the order of trial; empty if this build has no kernels.
[[nodiscard]] std::span<const KernelImage> embedded_kernels() noexcept;

[[nodiscard]] std::string kernels_in_words();

}  // namespace tern::cuda
