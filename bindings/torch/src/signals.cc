// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <pybind11/pybind11.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace torch_tern {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{200};

bool is_first_thread() {
  static thread_local const bool is_first = syscall(SYS_gettid) == getpid();
  return is_first;
}

}  // namespace

std::chrono::steady_clock::time_point next_look_for_signals() {
  using Clock = std::chrono::steady_clock;
  return is_first_thread() ? Clock::now() + kBetweenLooks : Clock::time_point::max();
}

void run_signal_handlers() {
  if (!is_first_thread()) {
    return;
  }
  const pybind11::gil_scoped_acquire python;
  if (PyErr_CheckSignals() != 0) {
    throw pybind11::error_already_set();
  }
}

}  // namespace torch_tern
