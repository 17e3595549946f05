// SPDX-License-Identifier: Apache-2.0
// A thread's call stack on stderr, a line for each function: its name, file and line where the
// program has debug information (libbacktrace finds them), else the exported name before it, else
// where it lies in its file. Why: for the report of a crash, so nothing here takes memory of the
// heap or a lock of the C library's streams. Threads: one at a time.
#pragma once

#include <cstdint>

namespace tern {

/// Writes the stack of the calling thread. `from` is where its report begins, such as the
/// instruction that a signal interrupted; callers inside of it (the handler) are left out. Where
/// the stack has no such place, or `from` is 0, all of it is written.
void write_stack(std::uintptr_t from) noexcept;

}  // namespace tern
