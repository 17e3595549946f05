// SPDX-License-Identifier: Apache-2.0
// Keeps exceptions until the MPI call leaves the library.
#include "core/user_call.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/current_call.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

// A destructor would make the C library allocate.
constinit thread_local struct {
  const char* function = nullptr;
  alignas(std::exception_ptr) std::byte place[sizeof(std::exception_ptr)] = {};
} kept;

constexpr char kSentence[] = "%s threw a C++ exception";

// Globals has the layout of the Itanium C++ ABI, section 2.2.2.
struct Globals {
  void* caught;
  unsigned int uncaught;
};

/// The program's runtime counted the throw, the library's the catch. count_uncaught() corrects
/// std::uncaught_exceptions() of both runtimes while the exception is kept (`by` -1), and after the
/// rethrow (1).
void count_uncaught(int by) noexcept {
  void* const found = ::dlsym(RTLD_DEFAULT, "__cxa_get_globals");
  auto* const ours = reinterpret_cast<Globals*>(abi::__cxa_get_globals());
  if (found == nullptr) return;
  auto* const theirs = reinterpret_cast<Globals* (*)()>(found)();
  if (theirs == ours) return;
  theirs->uncaught += static_cast<unsigned int>(by);
  ours->uncaught -= static_cast<unsigned int>(by);
}

std::exception_ptr taken() noexcept {
  auto* const place = std::launder(reinterpret_cast<std::exception_ptr*>(kept.place));
  std::exception_ptr exception = std::move(*place);
  place->~exception_ptr();
  kept.function = nullptr;
  return exception;
}

}  // namespace

constinit std::atomic<bool> unwinder_ready{false};

// A walk of zero steps fills the unwinder's tables.
void prepare_unwinder() noexcept {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
  unwinder_ready.store(true, std::memory_order_release);
}

int keep_exception(const char* function) noexcept {
  if (current_call.call == nullptr) {
    log_line("%s threw a C++ exception on a thread of the library: no MPI call can rethrow it",
             function);
    std::terminate();
  }
  if (kept.function != nullptr) (void)taken();
  new (kept.place) std::exception_ptr(std::current_exception());
  kept.function = function;
  count_uncaught(-1);
  return fail(MPI_ERR_OTHER, kSentence, function);
}

bool keeps_exception_of(const std::string& text) noexcept {
  if (kept.function == nullptr) return false;
  char sentence[256];
  std::snprintf(sentence, sizeof sentence, kSentence, kept.function);
  return text.find(sentence) != std::string::npos;
}

void throw_kept_exception() {
  const std::exception_ptr exception = taken();
  count_uncaught(1);
  std::rethrow_exception(exception);
}

}  // namespace tern::core
