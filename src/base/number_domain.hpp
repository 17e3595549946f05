// SPDX-License-Identifier: Apache-2.0
// Of the processes that number each other alike: this host's, and of these one PID namespace's.
// Why: a process id, and what lies below /proc, means something among these alone.
// Threads: any.
#pragma once

#include <cstdint>

namespace tern {

[[nodiscard]] uint64_t number_domain() noexcept;

}  // namespace tern
