// SPDX-License-Identifier: Apache-2.0
// The content of a file given by a user. Why: a name may be a directory or an endless device.
#pragma once

#include <cstddef>
#include <string>

namespace tern {

inline constexpr std::size_t kMostText = std::size_t{64} << 20;  // bytes

/// Throws Error (MPI_ERR_FILE) with name and cause; files of more than kMostText are refused.
[[nodiscard]] std::string text_of_file(const std::string& name);

}  // namespace tern
