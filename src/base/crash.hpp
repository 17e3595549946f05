// SPDX-License-Identifier: Apache-2.0
// crash: says where the process was when SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends it.
// Why: on many ranks there is no debugger, and often no core file; the line of the program is what
// a user needs first. How: a handler for those of the signals whose disposition is the default when
// it is installed: what the program, a sanitizer, Python's faulthandler or a Java machine has set
// stays, and what they set later replaces it. After the report the signal ends the process as it
// would have: same status, and a core file of the place of the fault. Threads: any may crash; the
// first one is reported. See: tern_troubleshooting(7), tests/mpi/crash_backtrace.sh.
#pragma once

namespace tern {

/// The calling thread also gets a stack for handlers, if it has none, so that the overflow of its
/// own is reported.
void install_crash_report() noexcept;

}  // namespace tern
