// SPDX-License-Identifier: Apache-2.0
// Exceptions of the program's functions, kept until the MPI call has left the library.
#include "core/user_call.hpp"

#include <unwind.h>

#include <cstddef>
#include <exception>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/current_call.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

// No object with a destructor: the C library needs memory to note that of a thread.
constinit thread_local struct {
  bool is_there = false;
  alignas(std::exception_ptr) std::byte place[sizeof(std::exception_ptr)] = {};
} kept;

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
  if (!kept.is_there) new (kept.place) std::exception_ptr(std::current_exception());
  kept.is_there = true;
  return fail(MPI_ERR_OTHER, "%s threw a C++ exception", function);
}

bool exception_kept() noexcept { return kept.is_there; }

void throw_kept_exception() {
  auto* const place = std::launder(reinterpret_cast<std::exception_ptr*>(kept.place));
  const std::exception_ptr thrown = std::move(*place);
  place->~exception_ptr();
  kept.is_there = false;
  std::rethrow_exception(thrown);
}

}  // namespace tern::core
