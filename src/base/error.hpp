// SPDX-License-Identifier: Apache-2.0
// Errors: the exception of set-up code, code and text of the data path, and broken invariants.
// Threads: the text of fail() belongs to the calling thread. See: ARCHITECTURE.md "Errors".
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/compiler.hpp"

namespace tern {

[[nodiscard]] std::string strf(const char* format, ...) TERN_PRINTF(1, 2);

struct [[nodiscard]] Failure {
  int code = 0;
  std::string text;  // empty if memory was short
  explicit operator bool() const noexcept { return code != 0; }
};
[[nodiscard]] TERN_COLD Failure failure(int mpi_class, const char* format, ...) noexcept
    TERN_PRINTF(2, 3);

/// Set-up code throws Errors. An Error never crosses the C boundary.
class Error : public std::exception {
 public:
  Error(int mpi_class, std::string text) : failure_{mpi_class, std::move(text)} {}
  explicit Error(Failure why) : failure_(std::move(why)) {}
  [[nodiscard]] int mpi_class() const noexcept { return failure_.code; }
  [[nodiscard]] const char* what() const noexcept override { return failure_.text.c_str(); }
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }

 private:
  Failure failure_;
};

/// The data path keeps the sentence for the thread and returns `mpi_class`. Usage: `return
/// fail(MPI_ERR_RANK, "dest is %d, but %s has ranks 0..%d", ...)`.
[[nodiscard]] TERN_COLD int fail(int mpi_class, const char* format, ...) noexcept TERN_PRINTF(2, 3);

/// fail() of a success returns 0 and keeps the thread's text.
[[nodiscard]] inline int fail(const Failure& failure) noexcept {
  return TERN_LIKELY(!failure) ? 0 : fail(failure.code, "%s", failure.text.c_str());
}
[[nodiscard]] TERN_COLD int fail(const Error& error) noexcept;

/// Reports another object's error (a request's communicator). `object` is a core::Object*.
[[nodiscard]] TERN_COLD int fail_on(void* object, int mpi_class, const char* format, ...) noexcept
    TERN_PRINTF(3, 4);

/// This thread's last fail(). take() empties it.
struct LastError {
  std::string text;
  void* object = nullptr;
};
[[nodiscard]] LastError take_last_error() noexcept;

[[nodiscard]] const char* error_class_name(int mpi_class) noexcept;

/// TERN_ABORT_HOOK runs before the abort.
[[noreturn]] TERN_COLD void invariant_broken(const char* expression, const char* file,
                                             int line) noexcept;

}  // namespace tern

#define TERN_ASSERT(expression) \
  (TERN_LIKELY(expression) ? (void)0 : ::tern::invariant_broken(#expression, __FILE__, __LINE__))
