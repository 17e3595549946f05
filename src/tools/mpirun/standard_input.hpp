// SPDX-License-Identifier: Apache-2.0
// Makes a rank's standard input.
#pragma once

#include "base/fd.hpp"

namespace tern::mpirun {

[[nodiscard]] Fd open_null();

// Whether several readers of `fd` need copies from mpirun: a pipe, a socket or a terminal. Each
// reader can open a file again.
[[nodiscard]] bool needs_feed(int fd) noexcept;

// Opens the same file with a separate offset, initially that of `fd`. Throws tern::Error.
[[nodiscard]] Fd open_again(int fd);

}  // namespace tern::mpirun
