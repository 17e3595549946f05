// SPDX-License-Identifier: Apache-2.0
// Half: IEEE binary16 (MPI_REAL2), computed in float and rounded to nearest even.
// Why: no compiler of ours has the type on every processor. Internal linkage: see loops.inc.
#pragma once

#include <cstdint>

namespace tern::core::reduce {
namespace {

struct Half {
  uint16_t bits;

  Half() = default;
  explicit Half(float value) noexcept : bits(round(value)) {}

  [[nodiscard]] operator float() const noexcept {
    const uint32_t sign = (bits & 0x8000U) << 16;
    const uint32_t exponent = (bits >> 10) & 31U;
    const uint32_t fraction = bits & 0x3ffU;
    if (exponent == 31) return from_bits(sign | 0x7f800000U | (fraction << 13));
    if (exponent != 0) return from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float tiny = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  friend Half operator+(Half a, Half b) noexcept { return Half(float(a) + float(b)); }
  friend Half operator-(Half a, Half b) noexcept { return Half(float(a) - float(b)); }
  friend Half operator*(Half a, Half b) noexcept { return Half(float(a) * float(b)); }

 private:
  static float from_bits(uint32_t bits) noexcept {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }
  static uint16_t round(float value) noexcept {
    uint32_t all;
    __builtin_memcpy(&all, &value, sizeof all);
    const uint32_t sign = (all >> 16) & 0x8000U;
    const uint32_t magnitude = all & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);  // not a number
    if (magnitude >= 0x477ff000U)
      return static_cast<uint16_t>(sign | 0x7c00U);  // rounds to infinity
    if (magnitude < 0x38800000U) {  // below the least normal: adding 0.5 leaves multiples of 2^-24
      const float shifted = from_bits(magnitude) + 0.5F;
      uint32_t low;
      __builtin_memcpy(&low, &shifted, sizeof low);
      return static_cast<uint16_t>(sign | (low - 0x3f000000U));
    }
    const uint32_t even = (magnitude >> 13) & 1U;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + even) >> 13));
  }
};

}  // namespace
}  // namespace tern::core::reduce
