// SPDX-License-Identifier: Apache-2.0
// Half and Bfloat16, computed in float and rounded to nearest even. Why: not every compiler has the
// types. Internal linkage: see base/arithmetic.hpp.
#pragma once

#include <cstdint>

#include "base/device.hpp"

namespace tern {
namespace {

TERN_DEVICE float float_of_bits(uint32_t bits) noexcept {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
TERN_DEVICE uint32_t bits_of_float(float value) noexcept {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

struct HalfFormat {
  TERN_DEVICE static float widen(uint16_t bits) noexcept {
    const uint32_t sign = (bits & 0x8000U) << 16;
    const uint32_t exponent = (bits >> 10) & 31U;
    const uint32_t fraction = bits & 0x3ffU;
    if (exponent == 31) return float_of_bits(sign | 0x7f800000U | (fraction << 13));
    if (exponent != 0) return float_of_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float tiny = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  TERN_DEVICE static uint16_t narrow(float value) noexcept {
    const uint32_t all = bits_of_float(value);
    const uint32_t sign = (all >> 16) & 0x8000U;
    const uint32_t magnitude = all & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);
    if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);
    if (magnitude < 0x38800000U) {  // below the least normal, adding 0.5 leaves multiples of 2^-24
      const uint32_t low = bits_of_float(float_of_bits(magnitude) + 0.5F);
      return static_cast<uint16_t>(sign | (low - 0x3f000000U));
    }
    const uint32_t even = (magnitude >> 13) & 1U;
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + even) >> 13));
  }
};

struct Bfloat16Format {
  TERN_DEVICE static float widen(uint16_t bits) noexcept {
    return float_of_bits(static_cast<uint32_t>(bits) << 16);
  }
  TERN_DEVICE static uint16_t narrow(float value) noexcept {
    const uint32_t all = bits_of_float(value);
    if ((all & 0x7fffffffU) > 0x7f800000U) return static_cast<uint16_t>((all >> 16) | 0x40U);
    return static_cast<uint16_t>((all + 0x7fffU + ((all >> 16) & 1U)) >> 16);
  }
};

template <class Format>
struct Short {
  uint16_t bits;

  Short() = default;
  TERN_DEVICE explicit Short(float value) noexcept : bits(Format::narrow(value)) {}
  [[nodiscard]] TERN_DEVICE operator float() const noexcept { return Format::widen(bits); }

  TERN_DEVICE friend Short operator+(Short a, Short b) noexcept {
    return Short(float(a) + float(b));
  }
  TERN_DEVICE friend Short operator-(Short a, Short b) noexcept {
    return Short(float(a) - float(b));
  }
  TERN_DEVICE friend Short operator*(Short a, Short b) noexcept {
    return Short(float(a) * float(b));
  }
};

using Half = Short<HalfFormat>;
using Bfloat16 = Short<Bfloat16Format>;

}  // namespace
}  // namespace tern
