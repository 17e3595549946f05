// SPDX-License-Identifier: Apache-2.0
// Lines to the user on stderr, each with the rank in front and written by one system call.
// Threads: any. The rank is set once per process by the C API (ranks as threads keep "-").
#pragma once

#include "base/compiler.hpp"

namespace tern {

/// "[rank 3] text\n" on stderr, whole, even when many ranks write at once.
TERN_COLD void log_line(const char* format, ...) noexcept TERN_PRINTF(1, 2);

/// The rank that log_line names; -1 before it is known.
void set_log_rank(int rank) noexcept;

}  // namespace tern
