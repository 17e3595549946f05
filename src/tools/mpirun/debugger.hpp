// SPDX-License-Identifier: Apache-2.0
// What parallel debuggers read in mpirun's memory: the MPIR interface.
// How: a debugger that starts mpirun sets MPIR_being_debugged; then each rank is stopped at its
// first instruction until the debugger, which stops mpirun in MPIR_Breakpoint, has attached to it.
// One that attaches later finds the table at any time.
// See: "The MPIR Process Acquisition Interface" 1.1 (2019), tests/mpi/launch_debugger.sh.
#pragma once

#include <sys/types.h>

#include <string>

namespace tern::mpirun {

// Whether a debugger has started us and waits for the ranks.
[[nodiscard]] bool being_debugged() noexcept;

// The table has room for `ranks`; entries are filled as ranks start. Strings are copied.
void make_debugger_table(int ranks);
// `program` is a path from `directory`, or from where mpirun stands if that is empty.
void show_to_debugger(int rank, const std::string& host, const std::string& directory,
                      const std::string& program, pid_t pid);

// All ranks are started: stops in MPIR_Breakpoint where a debugger waits for it.
void tell_debugger_started();
void tell_debugger_aborting(const std::string& why);

}  // namespace tern::mpirun
