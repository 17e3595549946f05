// SPDX-License-Identifier: Apache-2.0
// A switch for each mutation: the build has all mutations, and the environment activates one.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

/// The function returns true for the number in TERN_MUTANT. Creates a file in TERN_MUTANTS_SEEN for
/// each number.
inline bool tern_mutant(int number) {
  static const char* const word = std::getenv("TERN_MUTANT");
  static const int chosen = word != nullptr ? std::atoi(word) : -1;
  static const char* const seen = std::getenv("TERN_MUTANTS_SEEN");
  static std::array<std::atomic<bool>, 1024> marked{};
  if (seen != nullptr && !marked[static_cast<size_t>(number)].exchange(true)) {
    const int before = errno;
    const std::string file =
        std::string(seen) + "/" + program_invocation_short_name + "." + std::to_string(number);
    const int fd = open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0) close(fd);
    errno = before;
  }
  return number == chosen;
}
