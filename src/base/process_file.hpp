// SPDX-License-Identifier: Apache-2.0
// open_of_process: opens a file of another process by its descriptor. Cost: a system call, plus
// more per thread if the first thread has ended. Threads: any. See: proc_pid_fd(5).
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"

namespace tern {

/// Adds O_CLOEXEC and O_NOCTTY to `flags`. On failure not valid(), with errno.
[[nodiscard]] Fd open_of_process(pid_t pid, int fd, int flags) noexcept;

/// Names the memory if the first thread has ended. 0: no other thread.
[[nodiscard]] pid_t later_thread_of(pid_t pid) noexcept;

}  // namespace tern
