// SPDX-License-Identifier: Apache-2.0
// Explains why a killed process does not end.
// Why: a stopped tracer or a system call in state D keeps a process forever. mpirun cannot end
// either, but the user can.
// See: tests/unit/tools/stuck_test.cc, tests/mpi/launch_traced.sh.
#pragma once

#include <sys/types.h>

#include <string>

namespace tern::mpirun {

// "traced by process 123 (gdb)", "in state D (disk sleep)".
[[nodiscard]] std::string why_not_ended(pid_t pid);

}  // namespace tern::mpirun
