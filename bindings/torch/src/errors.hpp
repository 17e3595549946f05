// SPDX-License-Identifier: Apache-2.0
// MPI error codes as C++ exceptions with Tern's message. PyTorch converts them to Python's.
#ifndef TORCH_TERN_ERRORS_HPP
#define TORCH_TERN_ERRORS_HPP

#include <mpi.h>

#include <exception>
#include <string>

namespace torch_tern {

// Returns the library's message for an error code: the call, the argument and the argument's value.
std::string sentence(int code);

// Returns true if the communicator is unusable: neither a refused argument nor a truncated message.
bool is_fatal(int code);

// Returns true if sizes differ across ranks.
bool is_truncated(int code);

// ValueError for refused arguments, otherwise DistBackendError. Null for MPI_SUCCESS.
std::exception_ptr exception_of(int code);
// Throws the exception of an error code.
inline void check(int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    std::rethrow_exception(exception_of(code));
  }
}

// Throws DistBackendError with these words.
[[noreturn]] void fail(const std::string& words);
std::exception_ptr failure(const std::string& words);

// Runs `step`. Returns the step's exception, or null.
template <class Step>
std::exception_ptr attempt(const Step& step) {
  try {
    step();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace torch_tern

#endif
