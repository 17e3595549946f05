// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <c10/util/Exception.h>

namespace torch_tern {

namespace {

// is_refusal() is true for invalid arguments: the communicator stays usable.
bool is_refusal(int error_class) {
  switch (error_class) {
    case MPI_ERR_ARG:
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_OP:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_TAG:
    case MPI_ERR_TYPE:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string sentence(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) {
    return "MPI error " + std::to_string(code);
  }
  return {text, static_cast<std::size_t>(length)};
}

bool is_fatal(int code) {
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  return !is_refusal(error_class) && error_class != MPI_ERR_TRUNCATE;
}

bool is_truncated(int code) {
  int error_class = MPI_SUCCESS;
  return code != MPI_SUCCESS && MPI_Error_class(code, &error_class) == MPI_SUCCESS &&
         error_class == MPI_ERR_TRUNCATE;
}

std::exception_ptr exception_of(int code) {
  if (code == MPI_SUCCESS) {
    return nullptr;
  }
  int error_class = MPI_ERR_OTHER;
  MPI_Error_class(code, &error_class);
  if (is_refusal(error_class)) {
    return attempt([code] { C10_THROW_ERROR(ValueError, "tern: " + sentence(code)); });
  }
  return failure(sentence(code));
}

void fail(const std::string& words) { C10_THROW_ERROR(DistBackendError, "tern: " + words); }

std::exception_ptr failure(const std::string& words) {
  return attempt([&words] { fail(words); });
}

}  // namespace torch_tern
