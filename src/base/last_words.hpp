// SPDX-License-Identifier: Apache-2.0
// last_words: what a process says when it can go on no more: that memory ran out, and by which
// limit. Why: most of the library may not throw; where memory ends there, the process ends, but
// with a sentence and an exit code instead of a signal. Threads: any.
#pragma once

#include <cstddef>

namespace tern {

/// From now on an exception that is not caught ends the process with a sentence and exit code 1.
/// The library has a C++ runtime of its own: the program's std::terminate stays as it is.
void install_last_words() noexcept;

/// "; ulimit -v allows 20000 KiB": the limits of memory that are set; empty where no limit is.
[[nodiscard]] const char* memory_limits_in_words(char* text, size_t bytes) noexcept;

}  // namespace tern
