// SPDX-License-Identifier: Apache-2.0
// Exceptions of the program's functions, kept until the MPI call has left the library.
#include "core/user_call.hpp"

#include <unwind.h>

#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/current_call.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

thread_local std::exception_ptr kept;

}  // namespace

constinit std::atomic<bool> unwinder_ready{false};

// A walk of no step fills the unwinder's tables, as a throw would.
void prepare_unwinder() noexcept {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
  unwinder_ready.store(true, std::memory_order_release);
}

int keep_exception(const char* function) noexcept {
  if (current_call.call == nullptr) {
    log_line("%s threw a C++ exception on a thread of the library: no MPI call can pass it on",
             function);
    std::terminate();
  }
  if (kept == nullptr) kept = std::current_exception();
  return fail(MPI_ERR_OTHER, "%s threw a C++ exception", function);
}

bool exception_kept() noexcept { return kept != nullptr; }

void throw_kept_exception() { std::rethrow_exception(std::exchange(kept, nullptr)); }

}  // namespace tern::core
