// SPDX-License-Identifier: Apache-2.0
// MPI error codes as C++ exceptions, which PyTorch converts to Python's.
#ifndef TORCH_TERN_ERRORS_HPP
#define TORCH_TERN_ERRORS_HPP

#include <mpi.h>

#include <exception>
#include <string>

namespace torch_tern {

std::string sentence(int code);

bool is_fatal(int code);

bool is_truncated(int code);

// Returns ValueError for refused arguments, otherwise DistBackendError. Null for MPI_SUCCESS.
std::exception_ptr exception_of(int code);
inline void check(int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    std::rethrow_exception(exception_of(code));
  }
}

[[noreturn]] void fail(const std::string& words);
std::exception_ptr failure(const std::string& words);

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
