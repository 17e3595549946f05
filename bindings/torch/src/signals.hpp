// SPDX-License-Identifier: Apache-2.0
// Runs Python's signal handlers while a thread waits for MPI.
// Why: Python defers handlers until the first thread executes Python code, so Ctrl-C would take
// effect after the wait.
#ifndef TORCH_TERN_SIGNALS_HPP
#define TORCH_TERN_SIGNALS_HPP

#include <chrono>

namespace torch_tern {

// Returns the time of the next poll: max() except on Python's first thread.
std::chrono::steady_clock::time_point next_look_for_signals();

// Throws a handler's exception (pybind11::error_already_set), so KeyboardInterrupt leaves the wait.
// Takes the GIL.
void run_signal_handlers();

}  // namespace torch_tern

#endif
