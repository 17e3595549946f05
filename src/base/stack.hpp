// SPDX-License-Identifier: Apache-2.0
// A thread's call stack on stderr, a line per function: name, file and line from debug information,
// otherwise the preceding exported name, otherwise the file offset. Uses no heap and no lock
// of the C library's streams. Threads: one at a time.
#pragma once

#include <cstdint>

namespace tern {

/// Writes the stack from `from` outward, such as an interrupted instruction, and omits inner
/// frames. Writes the whole stack if `from` is 0 or missing.
void write_stack(std::uintptr_t from) noexcept;

}  // namespace tern
