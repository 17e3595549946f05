// SPDX-License-Identifier: Apache-2.0
// Half precision and bfloat16: exact results, rounded to nearest.
#include <cmath>
#include <cstring>

#include "mpix.h"
#include "tests/unit/core/op_test.hpp"

namespace tern::core::test {
namespace {

float half_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_F(OpTest, HalfPrecisionRoundsToTheNearest) {
  const Datatype& type = of(MPI_REAL2);
  for (int i = 0; i < 200000; ++i) {
    uint16_t a = static_cast<uint16_t>(random_()), b = static_cast<uint16_t>(random_());
    if ((a & 0x7c00) == 0x7c00 || (b & 0x7c00) == 0x7c00) continue;
    uint16_t sum = b;
    (void)op(MPI_SUM).apply(&a, &sum, 1, type);
    const float exact = half_to_float(a) + half_to_float(b);
    if (std::abs(exact) >= 65520) {
      ASSERT_EQ(sum & 0x7fff, 0x7c00);
      continue;
    }
    const float error = std::abs(half_to_float(sum) - exact);
    for (const int step : {-1, 1}) {
      const uint16_t near = static_cast<uint16_t>(sum + step);
      if ((near & 0x7c00) == 0x7c00 || ((near ^ sum) & 0x8000) != 0) continue;
      ASSERT_LE(error, std::abs(half_to_float(near) - exact)) << a << " + " << b;
    }
    uint16_t product = b;
    (void)op(MPI_PROD).apply(&a, &product, 1, type);
    const float times = half_to_float(a) * half_to_float(b);
    if (std::abs(times) < 65504) {
      ASSERT_NEAR(half_to_float(product), times, std::abs(times) / 2048 + 0x1p-25F);
    }
  }
}

uint16_t nearest_bfloat16(float value) {
  const auto widened = [](uint32_t bits) {
    float wide;
    bits <<= 16;
    std::memcpy(&wide, &bits, sizeof wide);
    return static_cast<double>(wide);
  };
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t low = bits >> 16, high = low + 1;
  const bool infinite = (high & 0x7fffU) == 0x7f80U;
  const double above = infinite ? std::copysign(0x1p128, widened(low)) : widened(high);
  const double to_low = std::abs(static_cast<double>(value) - widened(low));
  const double to_high = std::abs(above - static_cast<double>(value));
  if (to_low == to_high) return static_cast<uint16_t>(low % 2 == 0 ? low : high);
  return static_cast<uint16_t>(to_low < to_high ? low : high);
}

TEST_F(OpTest, Bfloat16RoundsToTheNearest) {
  const Datatype& type = of(MPIX_BFLOAT16);
  EXPECT_EQ(type.size(), 2);
  EXPECT_EQ(type.name.text(), "MPIX_BFLOAT16");
  const auto wide = [](uint16_t bits) {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  };
  for (int i = 0; i < 200000; ++i) {
    // The exponents are similar, so that sums round.
    const auto draw = [&] {
      return static_cast<uint16_t>((random_() & 0x87ffU) | (0x3000U + (random_() & 0x800U)));
    };
    const uint16_t a = draw(), b = draw();
    uint16_t sum = b, product = b, least = b;
    (void)op(MPI_SUM).apply(&a, &sum, 1, type);
    (void)op(MPI_PROD).apply(&a, &product, 1, type);
    (void)op(MPI_MIN).apply(&a, &least, 1, type);
    ASSERT_EQ(sum, nearest_bfloat16(wide(a) + wide(b))) << a << " + " << b;
    ASSERT_EQ(product, nearest_bfloat16(wide(a) * wide(b))) << a << " * " << b;
    ASSERT_EQ(least, wide(a) < wide(b) ? a : b);
  }
  const uint16_t infinity = 0x7f80, largest = 0x7f7f, not_a_number = 0x7fc1;
  uint16_t result = largest;
  (void)op(MPI_SUM).apply(&largest, &result, 1, type);
  EXPECT_EQ(result, infinity);
  (void)op(MPI_SUM).apply(&not_a_number, &result, 1, type);
  EXPECT_GT(result & 0x7fff, 0x7f80);
}

}  // namespace
}  // namespace tern::core::test
