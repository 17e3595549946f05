// SPDX-License-Identifier: Apache-2.0
// open_of_process: opens a file of another process by its descriptor. Cost: a system call, and more
// per thread if the first thread has ended. Threads: any. See: proc_pid_fd(5).
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"

namespace tern {

/// Adds O_CLOEXEC and O_NOCTTY to `flags`. On failure the result is not valid(), with errno.
[[nodiscard]] Fd open_of_process(pid_t pid, int fd, int flags) noexcept;

/// Returns a thread that names the memory if the first thread has ended; 0: none.
[[nodiscard]] pid_t later_thread_of(pid_t pid) noexcept;

}  // namespace tern
