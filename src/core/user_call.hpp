// SPDX-License-Identifier: Apache-2.0
// Calls of the program's functions: operations, attribute callbacks, generalised requests,
// continuations.
// Why: the function may throw below locks and noexcept functions. How: the thread keeps the
// exception, the call fails with MPI_ERR_OTHER, and its entry point rethrows (src/abi/raise.cc). On
// a thread of the library the process ends with a message.
#pragma once

#include <atomic>
#include <string>

namespace tern::core {

/// Before the unwinder is ready, catching an exception of another C++ runtime aborts.
extern constinit std::atomic<bool> unwinder_ready;
void prepare_unwinder() noexcept;

/// keep_exception() replaces an earlier exception, and returns MPI_ERR_OTHER naming `function`, a
/// literal.
[[nodiscard]] int keep_exception(const char* function) noexcept;
/// A request fails in the completing MPI call, later than its operation threw.
[[nodiscard]] bool keeps_exception_of(const std::string& text) noexcept;
[[noreturn]] void throw_kept_exception();

template <class Function>
[[nodiscard]] int user_call(const char* name, bool* threw, Function&& function) noexcept {
  if (!unwinder_ready.load(std::memory_order_acquire)) prepare_unwinder();
  *threw = false;
  try {
    return function();
  } catch (...) {
    *threw = true;
    return keep_exception(name);
  }
}

}  // namespace tern::core
