// SPDX-License-Identifier: Apache-2.0
// What an MPI call returned, as the C++ exception that becomes Python's, with Tern's sentence.
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

// Throws for anything but MPI_SUCCESS: ValueError for refused arguments, else DistBackendError.
void check(int code);

// DistBackendError with these words.
[[noreturn]] void fail(const std::string& words);
std::exception_ptr failure(const std::string& words);

}  // namespace torch_tern

#endif
