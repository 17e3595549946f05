// SPDX-License-Identifier: Apache-2.0
// Errors: the exception of set-up code, the code-and-text of the data path, and broken invariants.
// Why: a message to the user says what was wrong, with which values; the class alone never does.
// Threads: the text of fail() is the calling thread's own.
// See: ARCHITECTURE.md "Errors".
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/compiler.hpp"

namespace tern {

/// printf into a string.
[[nodiscard]] std::string strf(const char* format, ...) TERN_PRINTF(1, 2);

/// Class and sentence of a failure, for a caller with a request or a Fate to put both into.
struct [[nodiscard]] Failure {
  int code = 0;      // an error class; 0: success
  std::string text;  // for the user; empty: no memory for the sentence
  explicit operator bool() const noexcept { return code != 0; }
};
[[nodiscard]] TERN_COLD Failure failure(int mpi_class, const char* format, ...) noexcept
    TERN_PRINTF(2, 3);

/// Set-up code throws an Error: an MPI error class (MPI_ERR_*) and a sentence. Never crosses the C
/// boundary.
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

/// Data path: remembers the sentence for the calling thread and returns `mpi_class`.
/// Usage: `return fail(MPI_ERR_RANK, "dest is %d, but %s has ranks 0..%d", ...)`.
[[nodiscard]] TERN_COLD int fail(int mpi_class, const char* format, ...) noexcept TERN_PRINTF(2, 3);

/// fail() for the failure of an inner function; a success leaves the thread's text as it is.
[[nodiscard]] inline int fail(const Failure& failure) noexcept {
  return TERN_LIKELY(!failure) ? 0 : fail(failure.code, "%s", failure.text.c_str());
}
/// The same from a caught exception.
[[nodiscard]] TERN_COLD int fail(const Error& error) noexcept;

/// fail() for an error that belongs to another object than the call's own (a request's
/// communicator). `object` is a core::Object*; base does not look at it.
[[nodiscard]] TERN_COLD int fail_on(void* object, int mpi_class, const char* format, ...) noexcept
    TERN_PRINTF(3, 4);

/// The text and object of the last fail() of this thread. take() empties it.
struct LastError {
  std::string text;
  void* object = nullptr;
};
[[nodiscard]] LastError take_last_error() noexcept;

/// "MPI_ERR_RANK" for an error class of the standard; "error class 4711" is for the caller to make.
[[nodiscard]] const char* error_class_name(int mpi_class) noexcept;  // nullptr where unknown

/// A broken invariant: prints expression, place and rank (TERN_ABORT_HOOK), then aborts.
[[noreturn]] TERN_COLD void invariant_broken(const char* expression, const char* file,
                                             int line) noexcept;

}  // namespace tern

#define TERN_ASSERT(expression) \
  (TERN_LIKELY(expression) ? (void)0 : ::tern::invariant_broken(#expression, __FILE__, __LINE__))
