// SPDX-License-Identifier: Apache-2.0
// Who a process is, among all that share its hardware: a number by chance; and which machine it
// runs on.
// Why: process ids of the system mean something within one PID namespace alone; in containers two
// processes that reach each other's devices may both have number 1.
// Threads: any.
#pragma once

#include <cstdint>

namespace tern {

/// Of this process: never 0, another one in a forked child.
[[nodiscard]] uint64_t process_id() noexcept;
/// Equal for all processes of one running kernel, whatever their namespaces.
[[nodiscard]] uint64_t machine_id() noexcept;
/// Equal for processes that number each other alike: of one machine and one PID namespace. Among
/// these alone a number of the system's, and what lies below /proc, means something.
[[nodiscard]] uint64_t number_domain() noexcept;
/// Equal for processes with the same numbers in /proc. Unique without a /proc, or with the /proc of
/// another PID namespace.
[[nodiscard]] uint32_t proc_domain() noexcept;
/// Equal for processes with equal proc_domain() and user namespace.
[[nodiscard]] uint32_t access_domain() noexcept;
[[nodiscard]] bool has_own_proc() noexcept;

}  // namespace tern
