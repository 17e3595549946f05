// SPDX-License-Identifier: Apache-2.0
// crash: prints the stack when SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT ends the process.
// How: Tern handles only signals with the default disposition. Other handlers (a sanitizer,
// Python's faulthandler, a Java machine) stay, and may replace Tern's later. After the report the
// signal ends the process as without Tern: same status, same core file. Threads: reports the first
// crashing thread.
#pragma once

namespace tern {

/// The calling thread gets an alternate stack, to report an overflow.
void install_crash_report() noexcept;

}  // namespace tern
