// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>

#include "base/last_words.hpp"
#include "base/log.hpp"
#include "mpix.h"

namespace tern {
namespace {

thread_local LastError last_error;

// Registers the destructor early: the C library aborts without memory for it.
[[gnu::constructor]] void register_early() noexcept {
  constexpr size_t kRoom = 65536;  // enough for a first sentence, too
  void* const room = std::malloc(kRoom);
  if (room == nullptr) {
    char limits[128];
    ::dprintf(STDERR_FILENO, "[tern] no memory to start%s. Cure: raise the limit\n",
              memory_limits_in_words(limits, sizeof limits));
    ::_exit(1);
  }
  std::free(room);
  asm volatile("" : : "r"(&last_error));
}

std::string vstrf(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return {};
  std::string text(static_cast<size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, arguments);
  return text;
}

std::string text_of(const char* format, va_list arguments) noexcept {
  try {
    return vstrf(format, arguments);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void remember(const char* format, va_list arguments, void* object) noexcept {
  last_error.object = object;
  last_error.text = text_of(format, arguments);
}

struct ClassName {
  int mpi_class;
  const char* name;
};

#define NAME(x) \
  { x, #x }
constexpr ClassName kClassNames[] = {
    NAME(MPI_SUCCESS),
    NAME(MPI_ERR_BUFFER),
    NAME(MPI_ERR_COUNT),
    NAME(MPI_ERR_TYPE),
    NAME(MPI_ERR_TAG),
    NAME(MPI_ERR_COMM),
    NAME(MPI_ERR_RANK),
    NAME(MPI_ERR_REQUEST),
    NAME(MPI_ERR_ROOT),
    NAME(MPI_ERR_GROUP),
    NAME(MPI_ERR_OP),
    NAME(MPI_ERR_TOPOLOGY),
    NAME(MPI_ERR_DIMS),
    NAME(MPI_ERR_ARG),
    NAME(MPI_ERR_UNKNOWN),
    NAME(MPI_ERR_TRUNCATE),
    NAME(MPI_ERR_OTHER),
    NAME(MPI_ERR_INTERN),
    NAME(MPI_ERR_PENDING),
    NAME(MPI_ERR_IN_STATUS),
    NAME(MPI_ERR_ACCESS),
    NAME(MPI_ERR_AMODE),
    NAME(MPI_ERR_ASSERT),
    NAME(MPI_ERR_BAD_FILE),
    NAME(MPI_ERR_BASE),
    NAME(MPI_ERR_CONVERSION),
    NAME(MPI_ERR_DISP),
    NAME(MPI_ERR_DUP_DATAREP),
    NAME(MPI_ERR_FILE_EXISTS),
    NAME(MPI_ERR_FILE_IN_USE),
    NAME(MPI_ERR_FILE),
    NAME(MPI_ERR_INFO_KEY),
    NAME(MPI_ERR_INFO_NOKEY),
    NAME(MPI_ERR_INFO_VALUE),
    NAME(MPI_ERR_INFO),
    NAME(MPI_ERR_IO),
    NAME(MPI_ERR_KEYVAL),
    NAME(MPI_ERR_LOCKTYPE),
    NAME(MPI_ERR_NAME),
    NAME(MPI_ERR_NO_MEM),
    NAME(MPI_ERR_NOT_SAME),
    NAME(MPI_ERR_NO_SPACE),
    NAME(MPI_ERR_NO_SUCH_FILE),
    NAME(MPI_ERR_PORT),
    NAME(MPI_ERR_PROC_ABORTED),
    NAME(MPI_ERR_QUOTA),
    NAME(MPI_ERR_READ_ONLY),
    NAME(MPI_ERR_RMA_ATTACH),
    NAME(MPI_ERR_RMA_CONFLICT),
    NAME(MPI_ERR_RMA_RANGE),
    NAME(MPI_ERR_RMA_SHARED),
    NAME(MPI_ERR_RMA_SYNC),
    NAME(MPI_ERR_RMA_FLAVOR),
    NAME(MPI_ERR_SERVICE),
    NAME(MPI_ERR_SESSION),
    NAME(MPI_ERR_SIZE),
    NAME(MPI_ERR_SPAWN),
    NAME(MPI_ERR_UNSUPPORTED_DATAREP),
    NAME(MPI_ERR_UNSUPPORTED_OPERATION),
    NAME(MPI_ERR_VALUE_TOO_LARGE),
    NAME(MPI_ERR_WIN),
    NAME(MPI_ERR_ERRHANDLER),
    NAME(MPIX_ERR_STREAM),
    NAME(MPIX_ERR_PROC_FAILED),
    NAME(MPIX_ERR_PROC_FAILED_PENDING),
    NAME(MPIX_ERR_REVOKED),
};
#undef NAME

}  // namespace

std::string strf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = vstrf(format, arguments);
  va_end(arguments);
  return text;
}

int fail(int mpi_class, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  remember(format, arguments, nullptr);
  va_end(arguments);
  return mpi_class;
}

int fail(const Error& error) noexcept { return fail(error.failure()); }

int fail_on(void* object, int mpi_class, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  remember(format, arguments, object);
  va_end(arguments);
  return mpi_class;
}

Failure failure(int mpi_class, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  Failure made{mpi_class, text_of(format, arguments)};
  va_end(arguments);
  return made;
}

LastError take_last_error() noexcept {
  LastError taken;
  std::swap(taken, last_error);
  return taken;
}

const char* error_class_name(int mpi_class) noexcept {
  for (const ClassName& row : kClassNames)
    if (row.mpi_class == mpi_class) return row.name;
  return nullptr;
}

void invariant_broken(const char* expression, const char* file, int line) noexcept {
  log_line("broken invariant: %s (%s:%d). This is a defect of Tern: please report it.", expression,
           file, line);
  std::abort();
}

}  // namespace tern
