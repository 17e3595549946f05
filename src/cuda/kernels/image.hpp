// SPDX-License-Identifier: Apache-2.0
// The image of the kernels that nvcc made when Tern was built, or none.
#pragma once

#include <string>

namespace tern::cuda {

/// For cuLibraryLoadData; nullptr where this build has no kernels.
[[nodiscard]] const void* embedded_kernels() noexcept;

/// "kernels for 75 80 90 100 120 (PTX 100), nvcc 13.0.88", or why there are none.
[[nodiscard]] std::string kernels_in_words();

}  // namespace tern::cuda
