// SPDX-License-Identifier: Apache-2.0
// has_ended: whether a process of this host is gone, or dead and not yet waited for by its parent.
// Why: what waits for a process that shares memory must not wait for a dead one.
// Cost: two or four system calls. Threads: any.
#pragma once

#include <sys/types.h>

namespace tern {

[[nodiscard]] bool has_ended(pid_t pid) noexcept;

}  // namespace tern
