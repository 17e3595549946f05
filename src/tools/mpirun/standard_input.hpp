// SPDX-License-Identifier: Apache-2.0
// Makes a rank's standard input.
#pragma once

#include "base/fd.hpp"

namespace tern::mpirun {

[[nodiscard]] Fd open_null();

// Whether mpirun must copy to several readers of `fd`: a pipe, a socket or a terminal.
[[nodiscard]] bool needs_feed(int fd) noexcept;

// Opens the same file with a separate offset, initially that of `fd`. Throws tern::Error.
[[nodiscard]] Fd open_again(int fd);

}  // namespace tern::mpirun
