// SPDX-License-Identifier: Apache-2.0
// last_words: the final message of a process out of memory, with the limit. Why: most of the
// library must not throw. Threads: any.
#pragma once

#include <cstddef>

namespace tern {

/// Makes an uncaught exception end the process with a sentence and exit code 1. The program's
/// std::terminate stays.
void install_last_words() noexcept;

/// Returns for example "; ulimit -v allows 20000 KiB"; empty without limits.
[[nodiscard]] const char* memory_limits_in_words(char* text, size_t bytes) noexcept;

}  // namespace tern
