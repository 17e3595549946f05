// SPDX-License-Identifier: Apache-2.0
// Process identity: a random number, and the machine. Why: pids are meaningful only within a PID
// namespace. Threads: any.
#pragma once

#include <cstdint>

namespace tern {

/// Returns a random number of the kernel; before the kernel has any, a hash of time and pid.
[[nodiscard]] uint64_t random_word() noexcept;
/// Returns an id that is never 0 and differs in a forked child.
[[nodiscard]] uint64_t process_id() noexcept;
/// Returns an id equal in all namespaces of a running kernel.
[[nodiscard]] uint64_t machine_id() noexcept;
/// Returns an id of the machine and PID namespace, where pids and /proc are meaningful.
[[nodiscard]] uint64_t number_domain() noexcept;
/// Returns an id of the numbers in /proc; unique without a /proc, or with that of another PID
/// namespace.
[[nodiscard]] uint32_t proc_domain() noexcept;
[[nodiscard]] uint32_t access_domain() noexcept;
[[nodiscard]] bool has_own_proc() noexcept;

}  // namespace tern
