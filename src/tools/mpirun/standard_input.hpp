// SPDX-License-Identifier: Apache-2.0
// What a rank's standard input is made of.
#pragma once

#include "base/fd.hpp"

namespace tern::mpirun {

[[nodiscard]] Fd open_null();

// Whether several readers of `fd` must be fed: a pipe, a socket, a terminal. A file can be opened
// again by each.
[[nodiscard]] bool needs_feed(int fd) noexcept;

// The same file with a place of its own, which is where `fd` stands now. Throws tern::Error.
[[nodiscard]] Fd open_again(int fd);

}  // namespace tern::mpirun
