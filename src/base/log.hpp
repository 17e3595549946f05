// SPDX-License-Identifier: Apache-2.0
// Messages on stderr, prefixed with the rank. Threads: any.
#pragma once

#include "base/compiler.hpp"

namespace tern {

/// Prints "[rank 3] text\n", unbroken even with many writers.
TERN_COLD void log_line(const char* format, ...) noexcept TERN_PRINTF(1, 2);

void set_log_rank(int rank) noexcept;

}  // namespace tern
