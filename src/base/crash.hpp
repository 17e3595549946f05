// SPDX-License-Identifier: Apache-2.0
// crash: prints the stack when SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends the process.
// Why: with many ranks there is no debugger and often no core file; the user first needs the line
// of the program.
// How: handles those signals with the default disposition at installation. Handlers of the program,
// a sanitizer, Python's faulthandler or a Java machine stay, and may replace Tern's later. After
// the report the signal ends the process as without Tern: same status, and a core file of the
// fault.
// Threads: reports the first crashing thread. See: tern_troubleshooting(7),
// tests/mpi/crash_backtrace.sh.
#pragma once

namespace tern {

/// Gives the calling thread an alternate stack, if it has none, to report a stack overflow.
void install_crash_report() noexcept;

}  // namespace tern
