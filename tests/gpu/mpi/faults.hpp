// SPDX-License-Identifier: Apache-2.0
// Tools for failing driver functions: the used functions, and a message before a hang or crash.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "allocators.hpp"

namespace tern::test {

inline char doing[256];

inline void too_long(int) {
  (void)!write(2, doing, std::strlen(doing));
  _exit(1);
}
inline void end_with_words() {
  signal(SIGALRM, too_long);
  signal(SIGSEGV, too_long);
}

inline void now(const std::string& what, unsigned seconds) {
  std::snprintf(doing, sizeof doing, "[rank %d] hangs or crashes: %s\n", rank, what.c_str());
  alarm(seconds * kSlowness);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

inline std::vector<std::pair<std::string, unsigned long long>> counts() {
  std::vector<std::pair<std::string, unsigned long long>> all;
  for (unsigned i = 0; control().function(i) != nullptr; ++i)
    all.emplace_back(control().function(i), control().calls(control().function(i)));
  return all;
}

/// called() lists the functions that `call` uses on rank `of`, as fault rows, on all ranks.
template <class Call>
std::vector<std::string> called(int of, Call&& call) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const auto before = counts();
  call();
  const auto after = counts();
  std::string rows;
  for (size_t i = 0; i < after.size(); ++i) {
    const auto times = after[i].second - (i < before.size() ? before[i].second : 0);
    for (unsigned long long n = 1; n <= std::min(times, 2ULL); ++n)
      rows += after[i].first + ':' + std::to_string(n) + ": ";
  }
  char text[8192] = {};
  CHECK(rows.size() < sizeof text);
  std::memcpy(text, rows.data(), rows.size());
  OK(MPI_Bcast(text, sizeof text, MPI_CHAR, of, MPI_COMM_WORLD));
  std::vector<std::string> words;
  for (char* word = std::strtok(text, " "); word != nullptr; word = std::strtok(nullptr, " "))
    words.emplace_back(word);
  return words;
}

}  // namespace tern::test
