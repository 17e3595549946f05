// SPDX-License-Identifier: Apache-2.0
// has_ended: whether a process of this host has ended, including zombies. Cost: two or four system
// calls. Threads: any.
#pragma once

#include <sys/types.h>

namespace tern {

[[nodiscard]] bool has_ended(pid_t pid) noexcept;

}  // namespace tern
