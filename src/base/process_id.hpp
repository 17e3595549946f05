// SPDX-License-Identifier: Apache-2.0
// Process identity: a random number, and the machine. Why: pids are meaningful only within a PID
// namespace. Threads: any.
#pragma once

#include <cstdint>

namespace tern {

/// Never 0; differs in a forked child.
[[nodiscard]] uint64_t process_id() noexcept;
/// Equal in all namespaces of a running kernel.
[[nodiscard]] uint64_t machine_id() noexcept;
/// Equal within a machine and PID namespace, where pids and /proc are meaningful.
[[nodiscard]] uint64_t number_domain() noexcept;
/// Equal for the same numbers in /proc. Unique without a /proc, or with that of another PID
/// namespace.
[[nodiscard]] uint32_t proc_domain() noexcept;
/// Equal for processes with equal proc_domain() and user namespace.
[[nodiscard]] uint32_t access_domain() noexcept;
[[nodiscard]] bool has_own_proc() noexcept;

}  // namespace tern
