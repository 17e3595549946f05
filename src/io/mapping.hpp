// SPDX-License-Identifier: Apache-2.0
// Writes of small blocks through a shared mapping of the file. See: file_window.hpp (safety).
#pragma once

#include "io/memory.hpp"
#include "io/part.hpp"

namespace tern::io {

/// *done < bytes if the kernel refuses a mapping; the rest needs write().
[[nodiscard]] Failure write_mapped(const Part& part, const Memory& memory, size_t offset,
                                   size_t bytes, size_t* done) noexcept;

}  // namespace tern::io
