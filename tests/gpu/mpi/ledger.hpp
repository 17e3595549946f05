// SPDX-License-Identifier: Apache-2.0
// Ledger: an operation's driver calls by function, as counted by the software driver. A real call
// costs microseconds.
#pragma once

#include <map>

#include "allocators.hpp"

namespace tern::test {

using Counts = std::map<std::string, long long>;

inline std::string in_words(const Counts& counts) {
  std::string text;
  for (const auto& [function, count] : counts)
    if (count != 0) text += (text.empty() ? "" : ", ") + function + " " + std::to_string(count);
  return text;
}

inline Counts all_counts() {
  Counts counts;
  for (unsigned i = 0; control().function(i) != nullptr; ++i)
    counts[control().function(i)] = static_cast<long long>(control().calls(control().function(i)));
  return counts;
}

class Ledger {
 public:
  [[nodiscard]] Counts made() const {
    Counts counts = all_counts();
    for (const auto& [function, count] : before_) counts[function] -= count;
    return counts;
  }
  /// made_but_questions() excludes completion polls and their three calls each, because the number
  /// depends on timing.
  [[nodiscard]] Counts made_but_questions() const {
    Counts counts = made();
    const long long questions = counts["cuStreamQuery"] + counts["cuEventQuery"];
    counts["cuStreamQuery"] = counts["cuEventQuery"] = 0;
    counts["cuCtxGetCurrent"] -= questions;
    counts["cuThreadExchangeStreamCaptureMode"] -= 2 * questions;
    return counts;
  }

 private:
  Counts before_ = all_counts();
};

inline std::string waits_for_device(const Counts& counts) {
  Counts waits;
  for (const char* name :
       {"cuCtxSynchronize", "cuMemFree_v2", "cuMemAlloc_v2", "cuIpcCloseMemHandle", "cuMemUnmap",
        "cuMemHostAlloc", "cuLibraryLoadData", "cuMemFreeHost", "cuIpcOpenMemHandle_v2"})
    if (const auto found = counts.find(name); found != counts.end()) waits.insert(*found);
  return in_words(waits);
}
inline std::string waits_for_stream(const Counts& counts) {
  Counts waits;
  for (const char* name : {"cuStreamSynchronize", "cuEventSynchronize"})
    if (const auto found = counts.find(name); found != counts.end()) waits.insert(*found);
  return in_words(waits);
}

constexpr double kAny = 1e9;

struct Expected {
  const char* function;
  double count;
  bool at_most = false;  // the number depends on timing
};

inline std::string in_words(const Expected& one) {
  char text[96];
  std::snprintf(text, sizeof text, " %s%s %g,", one.at_most ? "at most " : "", one.function,
                one.count);
  return text;
}

inline void check_calls(const char* what, const Ledger& ledger, int rounds,
                        const std::vector<Expected>& expected) {
  const Counts made = ledger.made_but_questions();
  Counts left = made;
  bool right = true;
  std::string wanted;
  for (const Expected& one : expected) {
    const auto count = static_cast<double>(left[one.function]) / rounds;
    right = right && (count == one.count || (one.at_most && count < one.count));
    left[one.function] = 0;
    wanted += in_words(one);
  }
  if (!right || !in_words(left).empty())
    FAIL("%s: the calls of %d rounds are %s; each was to make%s", what, rounds,
         in_words(made).c_str(), wanted.c_str());
}

template <class Call>
void expect_calls(const char* what, const std::vector<Expected>& expected, Call&& call) {
  constexpr int kRounds = 8;
  for (int i = 0; i < 3; ++i) call();
  const Ledger ledger;
  for (int i = 0; i < kRounds; ++i) call();
  check_calls(what, ledger, kRounds, expected);
}

}  // namespace tern::test
