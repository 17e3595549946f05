// SPDX-License-Identifier: Apache-2.0
// Random: numbers from a seed, equal on all machines.
#pragma once

#include <cstdint>

namespace tern::kernels_test {

/// splitmix64's finaliser
[[nodiscard]] constexpr uint64_t mixed(uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(uint64_t seed) noexcept : state_(seed) {}
  constexpr uint64_t next() noexcept { return mixed(state_++); }
  constexpr uint64_t below(uint64_t limit) noexcept { return next() % limit; }
  constexpr bool once_in(uint64_t times) noexcept { return below(times) == 0; }

 private:
  uint64_t state_;
};

}  // namespace tern::kernels_test
