// SPDX-License-Identifier: Apache-2.0
#include "fault/word.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tern::fault {

void Word::merge(const Word& other) {
  flag &= other.flag;
  fail(other.failed);
  std::vector<int> both;
  std::set_intersection(acked.begin(), acked.end(), other.acked.begin(), other.acked.end(),
                        std::back_inserter(both));
  acked = std::move(both);
}

void Word::fail(const std::vector<int>& members) {
  if (members.empty()) return;
  std::vector<int> all;
  std::set_union(failed.begin(), failed.end(), members.begin(), members.end(),
                 std::back_inserter(all));
  failed = std::move(all);
}

bool Word::error() const noexcept {
  return !std::includes(acked.begin(), acked.end(), failed.begin(), failed.end());
}

}  // namespace tern::fault
