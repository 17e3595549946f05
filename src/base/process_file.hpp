// SPDX-License-Identifier: Apache-2.0
// open_of_process: a file that another process of this host has open, by its descriptor; and the
// threads of a process whose first one has ended.
// Cost: one system call; a process whose first thread has ended costs one more per thread.
// Threads: any. See: proc_pid_fd(5).
#pragma once

#include <sys/types.h>

#include "base/fd.hpp"

namespace tern {

/// Opened anew with these flags, O_CLOEXEC and O_NOCTTY; not valid() with errno.
[[nodiscard]] Fd open_of_process(pid_t pid, int fd, int flags) noexcept;

/// A thread but the first, by which the kernel names the memory when the first has ended. 0: the
/// process has one thread.
[[nodiscard]] pid_t later_thread_of(pid_t pid) noexcept;

}  // namespace tern
