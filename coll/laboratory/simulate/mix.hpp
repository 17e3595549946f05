// SPDX-License-Identifier: Apache-2.0
// mix: a 64-bit hash of two words (the finalizer of SplitMix64: Steele, Lea, Flood 2014).
#pragma once

#include <cstdint>

namespace tern::coll {

[[nodiscard]] constexpr uint64_t mix(uint64_t a, uint64_t b) noexcept {
  uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace tern::coll
