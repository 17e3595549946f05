// SPDX-License-Identifier: Apache-2.0
// The MPIR interface: variables in mpirun's memory for parallel debuggers. How: a debugger that
// starts mpirun sets MPIR_being_debugged. Each rank then stops at its first instruction until the
// debugger has attached, while mpirun stops in MPIR_Breakpoint. A debugger attaching later reads
// the table at any time. See: "The MPIR Process Acquisition Interface" 1.1 (2019).
#pragma once

#include <sys/types.h>

#include <string>

namespace tern::mpirun {

[[nodiscard]] bool being_debugged() noexcept;

// Makes a table for `ranks` entries, filled as ranks start.
void make_debugger_table(int ranks);
// A relative `program` starts from `directory`, or from mpirun's directory if empty.
void show_to_debugger(int rank, const std::string& host, const std::string& directory,
                      const std::string& program, pid_t pid);

// Stops in MPIR_Breakpoint if a debugger waits. Call once all ranks are started.
void tell_debugger_started();
void tell_debugger_aborting(const std::string& why);

}  // namespace tern::mpirun
