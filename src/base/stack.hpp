// SPDX-License-Identifier: Apache-2.0
// A thread's call stack on stderr, a line per function: name, file and line from debug information
// (libbacktrace), otherwise the preceding exported name, otherwise the offset in its file. Why: for
// crash reports, so this code uses no heap and no lock of the C library's streams. Threads: one at
// a time.
#pragma once

#include <cstdint>

namespace tern {

/// Writes the calling thread's stack from the address `from` outward, such as an interrupted
/// instruction, and omits inner frames (the handler). Writes the whole stack if `from` is 0 or
/// missing in the stack.
void write_stack(std::uintptr_t from) noexcept;

}  // namespace tern
