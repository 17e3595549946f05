// SPDX-License-Identifier: Apache-2.0
#include "base/last_words.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "base/log.hpp"

namespace tern {
namespace {

size_t add_limit(char* text, size_t bytes, const char* option, int which) noexcept {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY)
    return 0;
  const int length = std::snprintf(text, bytes, "; ulimit %s allows %llu KiB", option,
                                   static_cast<unsigned long long>(limit.rlim_cur) / 1024);
  return length < 0 ? 0 : static_cast<size_t>(length);
}

[[noreturn]] void say_and_end() noexcept {
  char limits[128];
  try {
    if (std::current_exception() != nullptr) throw;
    log_line("the program ends: std::terminate was called");
  } catch (const std::bad_alloc&) {
    log_line(
        "out of memory: the system refuses more memory%s. Cure: raise the limit, or the memory of "
        "the job's cgroup, or use less: fewer messages in flight, a smaller TERN_UNEXPECTED_LIMIT "
        "and TERN_SM_POOL",
        memory_limits_in_words(limits, sizeof limits));
  } catch (const std::exception& error) {
    log_line("%s%s", error.what(), memory_limits_in_words(limits, sizeof limits));
  } catch (...) {
    log_line("the program ends: an exception reached a noexcept function");
  }
  ::_exit(1);
}

}  // namespace

void install_last_words() noexcept { std::set_terminate(say_and_end); }

const char* memory_limits_in_words(char* text, size_t bytes) noexcept {
  text[0] = '\0';
  const size_t length = add_limit(text, bytes, "-v", RLIMIT_AS);
  if (length < bytes) add_limit(text + length, bytes - length, "-d", RLIMIT_DATA);
  return text;
}

}  // namespace tern
