// SPDX-License-Identifier: Apache-2.0
// Explains why a killed process does not end.
// Why: a stopped tracer or a system call in state D keeps a process forever. mpirun cannot end
// either, but the user can.
#pragma once

#include <sys/types.h>

#include <string>

namespace tern::mpirun {

[[nodiscard]] std::string why_not_ended(pid_t pid);

}  // namespace tern::mpirun
