// SPDX-License-Identifier: Apache-2.0
// Runs Python's signal handlers while a thread waits for MPI.
// Why: Python only notes a signal, and runs the handler when its first thread executes Python code.
// Without these polls Ctrl-C takes effect after the wait.
#ifndef TORCH_TERN_SIGNALS_HPP
#define TORCH_TERN_SIGNALS_HPP

#include <chrono>

namespace torch_tern {

// Returns the next time to poll for signals. Only Python's first thread polls.
std::chrono::steady_clock::time_point next_look_for_signals();

// Runs the handlers of pending signals and throws their exception (pybind11::error_already_set), so
// KeyboardInterrupt leaves the wait. Takes the GIL.
void run_signal_handlers();

}  // namespace torch_tern

#endif
