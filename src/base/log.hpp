// SPDX-License-Identifier: Apache-2.0
// Messages on stderr, each prefixed with the rank and written by one system call. Threads: any. The
// C API sets the rank once per process (ranks as threads keep "-").
#pragma once

#include "base/compiler.hpp"

namespace tern {

/// Prints "[rank 3] text\n" on stderr, unbroken even with many writers.
TERN_COLD void log_line(const char* format, ...) noexcept TERN_PRINTF(1, 2);

/// The rank in log_line(); -1 if unknown.
void set_log_rank(int rank) noexcept;

}  // namespace tern
