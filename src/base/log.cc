// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace tern {
namespace {
std::atomic<int> log_rank{-1};
}

void set_log_rank(int rank) noexcept { log_rank.store(rank, std::memory_order_relaxed); }

void log_line(const char* format, ...) noexcept {
  char line[4096];
  const int rank = log_rank.load(std::memory_order_relaxed);
  const int head = rank < 0 ? std::snprintf(line, sizeof line, "[tern] ")
                            : std::snprintf(line, sizeof line, "[rank %d] ", rank);
  va_list arguments;
  va_start(arguments, format);
  const int body =
      std::vsnprintf(line + head, sizeof line - static_cast<size_t>(head) - 1, format, arguments);
  va_end(arguments);
  size_t length = static_cast<size_t>(head) + static_cast<size_t>(body < 0 ? 0 : body);
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length] = '\n';
  ssize_t written = ::write(STDERR_FILENO, line, length + 1);
  (void)written;  // a closed stderr cannot be reported
}

}  // namespace tern
