// SPDX-License-Identifier: Apache-2.0
// Every device reduction, with data and the host's result, for tests of kernels.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/reduce/table.hpp"
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::cuda::test {

enum class Look { kBits, kFloat16, kBfloat16, kFloat, kDouble, kPair };

struct Case {
  Reduction operation;
  Number number;
  ReducePlan plan;
};

inline std::vector<Case> cases() {
  std::vector<Case> all;
  for (int o = 0; o < static_cast<int>(Reduction::kCount); ++o)
    for (int n = 0; n < static_cast<int>(Number::kCount); ++n)
      if (const auto plan = plan_reduce(static_cast<Reduction>(o), static_cast<Number>(n)))
        all.push_back({static_cast<Reduction>(o), static_cast<Number>(n), *plan});
  return all;
}

inline std::string describe(const Case& c) {
  return "operation " + std::to_string(static_cast<int>(c.operation)) + ", number " +
         std::to_string(static_cast<int>(c.number)) + " (" + name_of(c.plan.kernel) + ")";
}

inline Look look_of(Number number) {
  switch (number) {
    case Number::kHalf:
    case Number::kComplexHalf:
      return Look::kFloat16;
    case Number::kBfloat16:
      return Look::kBfloat16;
    case Number::kFloat:
    case Number::kComplexFloat:
      return Look::kFloat;
    case Number::kDouble:
    case Number::kComplexDouble:
      return Look::kDouble;
    case Number::kFloatInt:
    case Number::kDoubleInt:
    case Number::kLongInt:
    case Number::kIntInt:
    case Number::kShortInt:
    case Number::kFloatFloat:
    case Number::kDoubleDouble:
      return Look::kPair;
    default:
      return Look::kBits;
  }
}

/// The members are offsets in a pair. The padding has no meaning.
struct PairShape {
  int value, index_at, index;
};
inline PairShape shape_of(Number number) {
  switch (number) {
    case Number::kFloatInt:
    case Number::kIntInt:
    case Number::kFloatFloat:
      return {4, 4, 4};
    case Number::kShortInt:
      return {2, 4, 4};
    case Number::kDoubleDouble:
      return {8, 8, 8};
    default:
      return {8, 8, 4};
  }
}

class ReduceCases : public ::testing::Test {
 protected:
  /// Half of the numbers are small, so that ties and zeros occur.
  std::vector<char> random_bytes(const Case& c, size_t count) {
    std::vector<char> bytes(count * static_cast<size_t>(c.plan.bytes));
    for (char& byte : bytes) byte = static_cast<char>(random_());
    const auto fill = [&](auto zero, size_t step, auto make) {
      using T = decltype(zero);
      for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += step) {
        const T value = make();
        std::memcpy(bytes.data() + at, &value, sizeof value);
      }
    };
    const Look look = look_of(c.number);
    const auto small = [&] { return static_cast<int>(random_() % 9) - 4; };
    if (look == Look::kFloat) fill(0.0F, 4, [&] { return static_cast<float>(small()) / 3; });
    if (look == Look::kDouble) fill(0.0, 8, [&] { return static_cast<double>(small()) / 3; });
    if (look == Look::kFloat16)
      fill(uint16_t{0}, 2, [&] { return static_cast<uint16_t>(random_() & 0xbbffU); });
    if (look == Look::kBfloat16)
      fill(uint16_t{0}, 2, [&] { return static_cast<uint16_t>(random_() & 0xbfffU); });
    const auto step = static_cast<size_t>(c.plan.bytes);
    if (look == Look::kPair) fill_pairs(c.number, bytes);
    if (look == Look::kBits && random_() % 2 == 0)
      for (size_t at = 0; at < bytes.size(); at += step)
        if (random_() % 2 == 0) std::memset(bytes.data() + at, 0, step);
    return bytes;
  }

  void fill_pairs(Number number, std::vector<char>& bytes) {
    const size_t step = number == Number::kDoubleInt || number == Number::kLongInt ||
                                number == Number::kDoubleDouble
                            ? 16
                            : 8;
    const auto put = [&](size_t at, auto value) {
      std::memcpy(bytes.data() + at, &value, sizeof value);
    };
    const bool floats = number == Number::kFloatInt || number == Number::kFloatFloat;
    const bool doubles = number == Number::kDoubleInt || number == Number::kDoubleDouble;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const int value = static_cast<int>(random_() % 5) - 2,
                index = static_cast<int>(random_() % 99);
      if (floats) put(at, static_cast<float>(value));
      if (doubles) put(at, static_cast<double>(value));
      if (number == Number::kLongInt) put(at, static_cast<int64_t>(value));
      if (number == Number::kIntInt) put(at, value);
      if (number == Number::kShortInt) put(at, static_cast<int16_t>(value));
      if (number == Number::kFloatFloat)
        put(at + 4, static_cast<float>(index));
      else if (number == Number::kDoubleDouble)
        put(at + 8, static_cast<double>(index));
      else
        put(at + step / 2, index);
    }
  }

  static std::vector<char> expected(const Case& c, const std::vector<std::vector<char>>& sources,
                                    size_t count) {
    const auto loop = core::loops::best_table().row(c.operation)[static_cast<int>(c.number)];
    std::vector<char> result = sources.back();
    for (size_t k = sources.size() - 1; k-- > 0;) loop(sources[k].data(), result.data(), count);
    return result;
  }

  static void compare(const Case& c, const char* result, const std::vector<char>& wanted,
                      size_t count, const std::string& what) {
    if (look_of(c.number) != Look::kPair) {
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(result[i], wanted[i]) << describe(c) << ", byte " << i << what;
      return;
    }
    const PairShape shape = shape_of(c.number);
    for (size_t i = 0; i < count; ++i) {
      const size_t at = i * static_cast<size_t>(c.plan.bytes);
      ASSERT_EQ(std::memcmp(result + at, wanted.data() + at, static_cast<size_t>(shape.value)), 0)
          << describe(c) << ", value " << i << what;
      const size_t index = at + static_cast<size_t>(shape.index_at);
      ASSERT_EQ(
          std::memcmp(result + index, wanted.data() + index, static_cast<size_t>(shape.index)), 0)
          << describe(c) << ", index " << i << what;
    }
  }

  std::mt19937_64 random_{11};
};

}  // namespace tern::cuda::test
