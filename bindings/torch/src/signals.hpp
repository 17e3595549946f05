// SPDX-License-Identifier: Apache-2.0
// Runs Python's signal handlers while a thread waits for MPI.
// Why: Python notes a signal, and its first thread runs the handler back in Python. Without these
// looks Ctrl-C takes effect at the end of the wait.
#ifndef TORCH_TERN_SIGNALS_HPP
#define TORCH_TERN_SIGNALS_HPP

#include <chrono>

namespace torch_tern {

// The time of the waiting thread's next look for signals: never, except in Python's first thread.
std::chrono::steady_clock::time_point next_look_for_signals();

// Runs the handlers of pending signals. Throws a handler's exception
// (pybind11::error_already_set): KeyboardInterrupt leaves the wait. Takes Python's lock.
void run_signal_handlers();

}  // namespace torch_tern

#endif
