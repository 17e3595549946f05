// SPDX-License-Identifier: Apache-2.0
// The images of the kernels that nvcc made when Tern was built, or none.
// Why several: one toolkit does not compile for all GPUs; a second, older one does for the rest
// (configure --with-cuda-legacy).
#pragma once

#include <span>
#include <string>

namespace tern::cuda {

struct KernelImage {
  const void* code;   // for cuLibraryLoadData
  const char* words;  // "kernels for 75 80 90 100 120 (PTX 100), nvcc 13.0.88"
};

/// To be tried in this order; none where this build has no kernels.
[[nodiscard]] std::span<const KernelImage> embedded_kernels() noexcept;

/// Those of all images, or why there are none.
[[nodiscard]] std::string kernels_in_words();

}  // namespace tern::cuda
