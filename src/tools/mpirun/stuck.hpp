// SPDX-License-Identifier: Apache-2.0
// Why a process does not end though it was killed, in words.
// Why: a stopped tracer keeps its process for ever, and so does a system call in state D; mpirun
// can do nothing about either, but its user can.
// See: tests/unit/tools/stuck_test.cc, tests/mpi/launch_traced.sh.
#pragma once

#include <sys/types.h>

#include <string>

namespace tern::mpirun {

// "traced by process 123 (gdb)", "in state D (disk sleep)".
[[nodiscard]] std::string why_not_ended(pid_t pid);

}  // namespace tern::mpirun
