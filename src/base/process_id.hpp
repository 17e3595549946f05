// SPDX-License-Identifier: Apache-2.0
// Process identity among all processes on the same hardware: a random number, and the machine.
// Why: pids are meaningful only within a PID namespace; in containers, two processes with access to
// each other's devices may both have pid 1. Threads: any.
#pragma once

#include <cstdint>

namespace tern {

/// Never 0; differs in a forked child.
[[nodiscard]] uint64_t process_id() noexcept;
/// Equal for all processes of one running kernel, in all namespaces.
[[nodiscard]] uint64_t machine_id() noexcept;
/// Equal for processes of one machine and PID namespace. Pids and /proc are meaningful only among
/// these.
[[nodiscard]] uint64_t number_domain() noexcept;
/// Equal for processes with the same numbers in /proc. Unique without a /proc, or with the /proc of
/// another PID namespace.
[[nodiscard]] uint32_t proc_domain() noexcept;
/// Equal for processes with equal proc_domain() and user namespace.
[[nodiscard]] uint32_t access_domain() noexcept;
[[nodiscard]] bool has_own_proc() noexcept;

}  // namespace tern
