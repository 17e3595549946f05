// SPDX-License-Identifier: Apache-2.0
// Error codes of MPI as C++ exceptions, with Tern's sentence. PyTorch makes Python's from them.
#ifndef TORCH_TERN_ERRORS_HPP
#define TORCH_TERN_ERRORS_HPP

#include <mpi.h>

#include <exception>
#include <string>

namespace torch_tern {

// The sentence of an error code, which names the call, the argument and its value.
std::string sentence(int code);

// Whether communication goes no further; not so where arguments were refused, or a message was cut.
bool is_fatal(int code);

// Whether sizes differ among ranks.
bool is_truncated(int code);

// ValueError for refused arguments, else DistBackendError; null for MPI_SUCCESS.
std::exception_ptr exception_of(int code);
// Throws the exception of an error code.
inline void check(int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    std::rethrow_exception(exception_of(code));
  }
}

// DistBackendError with these words.
[[noreturn]] void fail(const std::string& words);
std::exception_ptr failure(const std::string& words);

// The exception of `step`, or null.
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
