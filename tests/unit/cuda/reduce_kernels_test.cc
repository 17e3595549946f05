// SPDX-License-Identifier: Apache-2.0
// The kernels of reductions on the host's shim against the loops of core: every operation on every
// number, 1 to 16 sources, odd counts, any alignment, the target among the sources.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/reduce/table.hpp"
#include "cuda/kernels/reduce_plan.hpp"
#include "tests/softcuda/shim/launch.h"

namespace tern::cuda::test {
namespace {

constexpr unsigned kThreads = 64;

/// How the elements of a number are made and compared.
enum class Look { kBits, kFloat16, kBfloat16, kFloat, kDouble, kPair };

struct Case {
  Reduction operation;
  Number number;
  ReducePlan plan;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (int o = 0; o < static_cast<int>(Reduction::kCount); ++o)
    for (int n = 0; n < static_cast<int>(Number::kCount); ++n)
      if (const auto plan = plan_reduce(static_cast<Reduction>(o), static_cast<Number>(n)))
        all.push_back({static_cast<Reduction>(o), static_cast<Number>(n), *plan});
  return all;
}

std::string describe(const Case& c) {
  return "operation " + std::to_string(static_cast<int>(c.operation)) + ", number " +
         std::to_string(static_cast<int>(c.number)) + " (" + name_of(c.plan.kernel) + ")";
}

Look look_of(Number number) {
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

/// Value and index of a pair: where they lie. Between them may be bytes that mean nothing.
struct PairShape {
  int value, index_at, index;
};
PairShape shape_of(Number number) {
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

class ReduceKernels : public ::testing::Test {
 protected:
  /// Bytes that are numbers, half of them small enough that ties and zeros come about.
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
    const auto loop = core::reduce::best_table().row(c.operation)[static_cast<int>(c.number)];
    std::vector<char> result = sources.back();
    for (size_t k = sources.size() - 1; k-- > 0;) loop(sources[k].data(), result.data(), count);
    return result;
  }

  static void launch(const Case& c, const std::vector<const void*>& sources, void* target,
                     size_t count, unsigned blocks) {
    const TernHostKernels* kernels = tern_host_kernels();
    const TernHostKernel* kernel = kernels->find(name_of(c.plan.kernel));
    ASSERT_NE(kernel, nullptr) << describe(c);
    ReduceArguments arguments{};
    std::copy(sources.begin(), sources.end(), arguments.sources);
    arguments.target = target;
    arguments.count = static_cast<int64_t>(count) * c.plan.factor;
    arguments.n = static_cast<int>(sources.size());
    arguments.operation = static_cast<int>(c.operation);
    ASSERT_EQ(kernel->parameter_bytes, sizeof arguments);
    const TernLaunch grid = {{blocks, 1, 1}, {kThreads, 1, 1}, 0, 0};
    char why[256] = "";
    ASSERT_EQ(kernels->launch(kernel, &grid, &arguments, why, sizeof why), 0) << why;
  }

  /// Compares element by element; the padding of pairs is nobody's.
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

  struct Shape {
    size_t n, count;
    unsigned blocks;
    size_t skew_source, skew_target;  // bytes from a border of 64
    int in_place;                     // which source is the target; -1: none
  };

  void check(const Case& c, const Shape& shape) {
    std::vector<std::vector<char>> sources;
    for (size_t k = 0; k < shape.n; ++k) sources.push_back(random_bytes(c, shape.count));
    const std::vector<char> wanted = expected(c, sources, shape.count);
    const size_t bytes = wanted.size(), room = bytes + 192;
    std::vector<std::vector<char>> rooms(shape.n + 1, std::vector<char>(room, '\x5a'));
    const auto border = [](std::vector<char>& v, size_t skew) {
      const auto address = reinterpret_cast<uintptr_t>(v.data());
      return reinterpret_cast<char*>((address + 63) / 64 * 64 + 64 + skew) - (skew > 63 ? 64 : 0);
    };
    std::vector<const void*> given;
    char* target = border(rooms[shape.n], shape.skew_target);
    for (size_t k = 0; k < shape.n; ++k) {
      char* const to = static_cast<int>(k) == shape.in_place
                           ? target
                           : border(rooms[k], shape.skew_source * (k % 3));
      std::memcpy(to, sources[k].data(), bytes);
      given.push_back(to);
    }
    launch(c, given, target, shape.count, shape.blocks);
    const std::string what = " of " + std::to_string(bytes) + ", " + std::to_string(shape.n) +
                             " sources, skews " + std::to_string(shape.skew_source) + " " +
                             std::to_string(shape.skew_target);
    compare(c, target, wanted, shape.count, what);
    ASSERT_EQ(target[-1], '\x5a') << describe(c) << what;
    ASSERT_EQ(target[bytes], '\x5a') << describe(c) << what;
  }

  std::mt19937_64 random_{11};
};

TEST_F(ReduceKernels, EveryOperationOnEveryNumber) {
  size_t tried = 0;
  for (const Case& c : cases())
    for (const Shape& shape :
         {Shape{2, 37, 2, 0, 0, -1}, Shape{3, 1, 1, 0, 0, -1}, Shape{4, 2500, 2, 0, 0, 2}}) {
      check(c, shape);
      ++tried;
    }
  EXPECT_EQ(tried, 3U * 147U);
}

TEST_F(ReduceKernels, OneToSixteenSources) {
  for (const Case& c : cases())
    if (c.number == Number::kFloat || c.number == Number::kHalf || c.number == Number::kDoubleInt)
      for (size_t n = 1; n <= kMostSources; ++n) check(c, {n, 301, 3, 0, 0, -1});
}

TEST_F(ReduceKernels, AnyAlignment) {
  for (const Case& c : cases()) {
    const auto element = static_cast<size_t>(c.plan.bytes);
    for (const size_t skew : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, element})
      for (const size_t target : {size_t{0}, size_t{3}, size_t{8}, element})
        check(c, {3, 333, 2, skew, target % 48, -1});
  }
}

TEST_F(ReduceKernels, TheTargetMayBeAnySource) {
  for (const Case& c : cases())
    if (c.number == Number::kInt32 || c.number == Number::kBfloat16)
      for (int which = 0; which < 4; ++which) check(c, {4, 5000, 3, 4, 4, which});
}

TEST_F(ReduceKernels, WhatTheHostReducesTheDeviceDoesButForWideFloats) {
  for (int o = 0; o < static_cast<int>(Reduction::kReplace); ++o)
    for (int n = 0; n < static_cast<int>(Number::kCount); ++n) {
      const auto operation = static_cast<Reduction>(o);
      const auto number = static_cast<Number>(n);
      const bool wide = number == Number::kLongDouble || number == Number::kQuad ||
                        number == Number::kComplexLongDouble || number == Number::kComplexQuad ||
                        number == Number::kLongDoubleInt;
      const bool host = core::reduce::best_table().row(operation)[n] != nullptr;
      EXPECT_EQ(plan_reduce(operation, number).has_value(), host && !wide) << o << " " << n;
    }
}

}  // namespace
}  // namespace tern::cuda::test
