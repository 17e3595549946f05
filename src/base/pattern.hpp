// SPDX-License-Identifier: Apache-2.0
// A pattern for tests of links: xorshift64 words; the words of two seeds differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern {

[[nodiscard]] inline std::vector<uint64_t> pattern_of(uint64_t seed, size_t words) {
  std::vector<uint64_t> pattern(words);
  for (uint64_t& one : pattern) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    one = seed;
  }
  return pattern;
}

}  // namespace tern
