// SPDX-License-Identifier: Apache-2.0
// Building blocks of generated entry points: the call, handle lookup and error exit.
// Why: rare paths stay out of line, so entry points stay short.
// Threads: any; a Call belongs to the calling thread.
// See: src/abi/checks.hpp (the argument checks), src/abi/raise.cc (errors), src/abi/generate.py.
#pragma once

#include <memory>
#include <new>

#include "api/process.hpp"
#include "api/refused_call.hpp"
#include "base/error.hpp"
#include "core/communicator.hpp"
#include "core/current_call.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/group.hpp"
#include "core/info.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "core/request.hpp"
#include "core/session.hpp"
#include "io/file.hpp"
#include "mpi.h"
#include "rma/window.hpp"
#include "stream/stream.hpp"
#include "trace/recorder.hpp"

namespace tern::abi {

/// A Call describes one call of the C API. `at` is the object with the error handler, or the
/// handler itself; null means MPI_COMM_SELF's handler.
struct Call {
  [[gnu::always_inline]] Call(const char* function, core::Process* of) noexcept
      : name(function), process(of) {
    core::current_call = {function, __builtin_return_address(0)};
  }
  Call(const char* function, core::Process* of, const void* site) noexcept
      : name(function), process(of) {
    core::current_call = {function, site};
  }
  const char* name;
  core::Process* process;
  core::Object* at = nullptr;
  core::Object* hearer = nullptr;                   // gets the errors in place of `at`
  api::CallContext part = api::CallContext::kNone;  // kNone once the body runs

  template <class T, class Handle>
  [[nodiscard]] T* find(Handle handle) const noexcept {
    return process->handles.find<T>(handle);
  }
  /// end() raises the body's error, if any.
  [[nodiscard]] int end(int code) const;
  /// run() destroys the body's objects before an error handler runs, because C++ exceptions and
  /// longjmp leave a handler through the entry point's frame without clean-ups.
  template <class Body>
  [[nodiscard, gnu::always_inline]] int run(Body&& body) const {
    return end(body());
  }
};

/// raise() delivers the code and the text of fail() to the error handler.
[[nodiscard]] TERN_COLD int raise(Call call, int code);

inline int Call::end(int code) const {
  return TERN_LIKELY(code == MPI_SUCCESS) ? code : raise(*this, code);
}

// not_running(), bad_handle() and the others call fail() and return the error class.

/// not_running() is the error of a call before MPI_Init or after MPI_Finalize.
[[nodiscard]] TERN_COLD int not_running() noexcept;
/// bad_handle() takes the parameter's name; the kind determines the error class.
[[nodiscard]] TERN_COLD int bad_handle(core::Kind kind, const char* what, uintptr_t word) noexcept;
template <class T, class Handle>
[[nodiscard]] TERN_COLD int bad_handle(const char* what, Handle handle) noexcept {
  return bad_handle(T::kKind, what, reinterpret_cast<uintptr_t>(handle));
}
[[nodiscard]] TERN_COLD int no_memory() noexcept;

/// unsupported() serves functions without a body. Rank 0 of the communicator, or every process if
/// the call has no communicator, names each function once on stderr, even if errors return:
/// programs without error checks would lose data silently. If the handler ends the job, only the
/// handler's message names the function.
[[nodiscard]] TERN_COLD int unsupported(Call& call) noexcept;
[[nodiscard]] TERN_COLD int unsupported(Call& call, MPI_Comm comm) noexcept;
[[nodiscard]] TERN_COLD int unsupported(Call& call, MPI_Session session) noexcept;
[[nodiscard]] TERN_COLD int unsupported(Call& call, MPI_Win win) noexcept;
/// name_unsupported() serves functions without an error code.
TERN_COLD void name_unsupported(const char* name) noexcept;

/// Widened converts an int array to a wider type; null stays null.
template <class Wide>
class Widened {
 public:
  Widened(const int* values, MPI_Count length) noexcept {
    if (values == nullptr) return;
    const size_t count = length > 0 ? static_cast<size_t>(length) : 0;
    if (count > kInPlace) many_.reset(new (std::nothrow) Wide[count]);
    wide_ = count > kInPlace ? many_.get() : few_;
    if (wide_ == nullptr) failed_ = true;
    for (size_t i = 0; i < count && wide_ != nullptr; ++i) wide_[i] = values[i];
  }
  [[nodiscard]] const Wide* get() const noexcept { return wide_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

 private:
  static constexpr size_t kInPlace = 64;
  Wide few_[kInPlace];
  std::unique_ptr<Wide[]> many_;
  Wide* wide_ = nullptr;
  bool failed_ = false;
};

/// narrowed() returns MPI_UNDEFINED if an MPI_Count exceeds int.
inline int narrowed(MPI_Count value) noexcept {
  return value == static_cast<int>(value) ? static_cast<int>(value) : MPI_UNDEFINED;
}

}  // namespace tern::abi
