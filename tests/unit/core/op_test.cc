// SPDX-License-Identifier: Apache-2.0
// Operations: every predefined one on every predefined type against plain C++, user functions,
// refusals.
#include "core/op.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "core/datatype_build.hpp"
#include "core/process.hpp"
#include "core/reduce/table.hpp"
#include "mpix.h"

namespace tern::core::test {
namespace {

const MPI_Op kArithmetic[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
const MPI_Op kLogical[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
const MPI_Op kBitwise[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
const MPI_Op kLocated[] = {MPI_MINLOC, MPI_MAXLOC};
const size_t kCounts[] = {0, 1, 2, 7, 16, 33, 64, 1001};

class OpTest : public ::testing::Test {
 protected:
  OpTest() {
    make_predefined_types(process_);
    make_predefined_ops(process_);
  }
  ~OpTest() override {
    free_predefined_ops(process_);
    free_predefined_types(process_);
  }
  Datatype& of(MPI_Datatype constant) { return predefined_type(process_, constant); }
  Op& op(MPI_Op constant) { return *process_.handles.find<Op>(constant); }

  /// Applies `which` to values from `random` and compares each element with `expected(a, b)`.
  template <class T, class Random, class Expected>
  void compare(MPI_Op which, MPI_Datatype constant, Random random, Expected expected) {
    const Datatype& type = of(constant);
    ASSERT_TRUE(op(which).accepts(type)) << op(which).name() << " on " << type.name;
    for (const size_t count : kCounts) {
      std::vector<T> in, inout;
      for (size_t i = 0; i < count; ++i) in.push_back(random());
      for (size_t i = 0; i < count; ++i) inout.push_back(random());
      std::vector<T> result = inout;
      op(which).apply(in.data(), result.data(), static_cast<MPI_Count>(count), type);
      for (size_t i = 0; i < count; ++i)
        ASSERT_TRUE(result[i] == expected(in[i], inout[i]))
            << op(which).name() << " on " << type.name << ", element " << i << " of " << count;
    }
  }

  std::mt19937_64 random_{5};
  Process process_;
};

template <class T>
T reference(MPI_Op op, T a, T b) {
  if (op == MPI_MIN) return std::min(a, b);
  if (op == MPI_MAX) return std::max(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    return op == MPI_SUM ? a + b : a * b;
  } else {
    using U = unsigned __int128;
    if (op == MPI_SUM) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    if (op == MPI_PROD) return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    if (op == MPI_BAND) return static_cast<T>(a & b);
    if (op == MPI_BOR) return static_cast<T>(a | b);
    if (op == MPI_BXOR) return static_cast<T>(a ^ b);
    if (op == MPI_LAND) return a && b;
    if (op == MPI_LOR) return a || b;
    return !a != !b;
  }
}

// clang-format off
#define INTEGERS(X)                                                                             \
  X(MPI_INT, int) X(MPI_LONG, long) X(MPI_SHORT, short) X(MPI_UNSIGNED_SHORT, unsigned short)   \
  X(MPI_UNSIGNED, unsigned) X(MPI_UNSIGNED_LONG, unsigned long) X(MPI_LONG_LONG_INT, long long) \
  X(MPI_UNSIGNED_LONG_LONG, unsigned long long) X(MPI_SIGNED_CHAR, signed char)                 \
  X(MPI_UNSIGNED_CHAR, unsigned char) X(MPI_INT8_T, int8_t) X(MPI_UINT8_T, uint8_t)             \
  X(MPI_INT16_T, int16_t) X(MPI_UINT16_T, uint16_t) X(MPI_INT32_T, int32_t)                     \
  X(MPI_UINT32_T, uint32_t) X(MPI_INT64_T, int64_t) X(MPI_UINT64_T, uint64_t)                   \
  X(MPI_AINT, MPI_Aint) X(MPI_COUNT, MPI_Count) X(MPI_OFFSET, MPI_Offset) X(MPI_INTEGER, int)   \
  X(MPI_INTEGER1, int8_t) X(MPI_INTEGER2, int16_t) X(MPI_INTEGER4, int32_t)                     \
  X(MPI_INTEGER8, int64_t) X(MPI_INTEGER16, __int128) X(MPI_CHAR, char)
#define FLOATS(X)                                                                              \
  X(MPI_FLOAT, float) X(MPI_DOUBLE, double) X(MPI_LONG_DOUBLE, long double) X(MPI_REAL, float) \
  X(MPI_DOUBLE_PRECISION, double) X(MPI_REAL4, float) X(MPI_REAL8, double)
#define COMPLEXES(X)                                                            \
  X(MPI_C_FLOAT_COMPLEX, float) X(MPI_C_DOUBLE_COMPLEX, double)                 \
  X(MPI_C_LONG_DOUBLE_COMPLEX, long double) X(MPI_CXX_FLOAT_COMPLEX, float)     \
  X(MPI_CXX_DOUBLE_COMPLEX, double) X(MPI_CXX_LONG_DOUBLE_COMPLEX, long double) \
  X(MPI_COMPLEX, float) X(MPI_DOUBLE_COMPLEX, double) X(MPI_COMPLEX8, float)    \
  X(MPI_COMPLEX16, double)
#define LOGICALS(X)                                                            \
  X(MPI_LOGICAL, int32_t) X(MPI_LOGICAL1, int8_t) X(MPI_LOGICAL2, int16_t)     \
  X(MPI_LOGICAL4, int32_t) X(MPI_LOGICAL8, int64_t) X(MPI_LOGICAL16, __int128) \
  X(MPI_C_BOOL, uint8_t) X(MPI_CXX_BOOL, uint8_t)
#define PAIRS(X)                                                                                \
  X(MPI_FLOAT_INT, float, int) X(MPI_DOUBLE_INT, double, int) X(MPI_LONG_INT, long, int)        \
  X(MPI_2INT, int, int) X(MPI_SHORT_INT, short, int) X(MPI_LONG_DOUBLE_INT, long double, int)   \
  X(MPI_2REAL, float, float) X(MPI_2DOUBLE_PRECISION, double, double) X(MPI_2INTEGER, int, int)
// clang-format on

TEST_F(OpTest, Integers) {
#define X(constant, type)                                                                         \
  for (const auto& ops : {std::vector<MPI_Op>(std::begin(kArithmetic), std::end(kArithmetic)),    \
                          std::vector<MPI_Op>(std::begin(kBitwise), std::end(kBitwise)),          \
                          std::vector<MPI_Op>(std::begin(kLogical), std::end(kLogical))})         \
    for (const MPI_Op which : ops)                                                                \
      compare<type>(                                                                              \
          which, constant, [&] { return static_cast<type>(random_() % 3 == 0 ? 0 : random_()); }, \
          [&](type a, type b) { return reference<type>(which, a, b); });
  INTEGERS(X)
#undef X
}

TEST_F(OpTest, FloatingPoint) {
#define X(constant, type)                                                                    \
  for (const MPI_Op which : kArithmetic)                                                     \
    compare<type>(                                                                           \
        which, constant,                                                                     \
        [&] { return static_cast<type>(static_cast<double>(random_() % 2001) - 1000) / 7; }, \
        [&](type a, type b) { return reference<type>(which, a, b); });
  FLOATS(X)
#undef X
}

TEST_F(OpTest, ComplexNumbers) {
#define X(constant, type)                                               \
  for (const MPI_Op which : {MPI_SUM, MPI_PROD})                        \
    compare<std::complex<type>>(                                        \
        which, constant,                                                \
        [&] {                                                           \
          return std::complex<type>(static_cast<type>(random_() % 64),  \
                                    static_cast<type>(random_() % 64)); \
        },                                                              \
        [&](std::complex<type> a, std::complex<type> b) {               \
          return which == MPI_SUM ? a + b : a * b;                      \
        });
  COMPLEXES(X)
#undef X
}

TEST_F(OpTest, Logicals) {
#define X(constant, type)                                                  \
  for (const MPI_Op which : kLogical)                                      \
    compare<type>(                                                         \
        which, constant, [&] { return static_cast<type>(random_() % 2); }, \
        [&](type a, type b) { return reference<type>(which, a, b); });
  LOGICALS(X)
#undef X
}

TEST_F(OpTest, Bytes) {
  for (const MPI_Op which : kBitwise)
    compare<uint8_t>(
        which, MPI_BYTE, [&] { return static_cast<uint8_t>(random_()); },
        [&](uint8_t a, uint8_t b) { return reference<uint8_t>(which, a, b); });
}

template <class V, class I>
struct Located {
  V value;
  I index;
  bool operator==(const Located&) const = default;
};

TEST_F(OpTest, PairsFindTheLeastIndexOfTheExtremeValue) {
#define X(constant, v, i)                                                                      \
  for (const MPI_Op which : kLocated)                                                          \
    compare<Located<v, i>>(                                                                    \
        which, constant,                                                                       \
        [&] {                                                                                  \
          return Located<v, i>{static_cast<v>(random_() % 5), static_cast<i>(random_() % 50)}; \
        },                                                                                     \
        [&](Located<v, i> a, Located<v, i> b) {                                                \
          if (a.value == b.value) return a.index < b.index ? a : b;                            \
          return (a.value < b.value) == (which == MPI_MINLOC) ? a : b;                         \
        });
  PAIRS(X)
#undef X
}

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
    if ((a & 0x7c00) == 0x7c00 || (b & 0x7c00) == 0x7c00) continue;  // infinite or no number
    uint16_t sum = b;
    op(MPI_SUM).apply(&a, &sum, 1, type);
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
    op(MPI_PROD).apply(&a, &product, 1, type);
    const float times = half_to_float(a) * half_to_float(b);
    if (std::abs(times) < 65504) {
      ASSERT_NEAR(half_to_float(product), times, std::abs(times) / 2048 + 0x1p-25F);
    }
  }
}

/// The nearest bfloat16, found by comparing with both neighbours; ties go to the even one.
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
  EXPECT_EQ(type.name, "MPIX_BFLOAT16");
  const auto wide = [](uint16_t bits) {
    const uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
  };
  for (int i = 0; i < 200000; ++i) {
    // Exponents near one another, so that sums are rounded.
    const auto draw = [&] {
      return static_cast<uint16_t>((random_() & 0x87ffU) | (0x3000U + (random_() & 0x800U)));
    };
    const uint16_t a = draw(), b = draw();
    uint16_t sum = b, product = b, least = b;
    op(MPI_SUM).apply(&a, &sum, 1, type);
    op(MPI_PROD).apply(&a, &product, 1, type);
    op(MPI_MIN).apply(&a, &least, 1, type);
    ASSERT_EQ(sum, nearest_bfloat16(wide(a) + wide(b))) << a << " + " << b;
    ASSERT_EQ(product, nearest_bfloat16(wide(a) * wide(b))) << a << " * " << b;
    ASSERT_EQ(least, wide(a) < wide(b) ? a : b);
  }
  const uint16_t infinity = 0x7f80, largest = 0x7f7f, not_a_number = 0x7fc1;
  uint16_t result = largest;
  op(MPI_SUM).apply(&largest, &result, 1, type);
  EXPECT_EQ(result, infinity);
  op(MPI_SUM).apply(&not_a_number, &result, 1, type);
  EXPECT_GT(result & 0x7fff, 0x7f80);
}

#if defined(__SIZEOF_FLOAT128__)
TEST_F(OpTest, QuadPrecision) {
  __extension__ typedef __float128 Quad;
  Quad a = 1, b = Quad(1) / (Quad(1ULL << 60) * Quad(1ULL << 40));
  const Quad sum = a + b;
  ASSERT_TRUE(sum != 1);
  op(MPI_SUM).apply(&a, &b, 1, of(MPI_REAL16));
  EXPECT_TRUE(b == sum);
  Quad x[2] = {1, 2}, y[2] = {3, 4};
  op(MPI_PROD).apply(x, y, 1, of(MPI_COMPLEX32));
  EXPECT_TRUE(y[0] == -5 && y[1] == 10);
}
#endif

TEST_F(OpTest, WhatTheStandardDoesNotAllowIsRefused) {
  const struct {
    MPI_Op op;
    MPI_Datatype type;
  } rows[] = {{MPI_BAND, MPI_DOUBLE}, {MPI_MIN, MPI_C_DOUBLE_COMPLEX},
              {MPI_SUM, MPI_C_BOOL},  {MPI_SUM, MPI_BYTE},
              {MPI_LAND, MPI_FLOAT},  {MPI_MAX, MPI_2INT},
              {MPI_MINLOC, MPI_INT},  {MPI_SUM, MPI_PACKED},
              {MPI_BOR, MPI_LOGICAL}, {MPI_SUM, MPI_CHARACTER},
              {MPI_MAX, MPI_WCHAR},   {MPI_REPLACE, MPI_INT},
              {MPI_NO_OP, MPI_INT},   {MPI_MAXLOC, MPI_C_FLOAT_COMPLEX}};
  for (const auto& row : rows) {
    EXPECT_FALSE(op(row.op).accepts(of(row.type)));
    EXPECT_EQ(op(row.op).check(of(row.type)), MPI_ERR_OP);
    const std::string text = take_last_error().text;
    EXPECT_NE(text.find(op(row.op).name()), std::string::npos) << text;
    if (op(row.op).loop(of(row.type)) == nullptr) {
      EXPECT_NE(text.find(of(row.type).name), std::string::npos) << text;
    }
  }
}

TEST_F(OpTest, ReplaceAndNoOpHaveLoopsForEveryType) {
  double a[2] = {1, 2}, b[2] = {3, 4};
  op(MPI_NO_OP).loop(of(MPI_DOUBLE))(a, b, 2);
  EXPECT_EQ(b[1], 4);
  op(MPI_REPLACE).loop(of(MPI_DOUBLE))(a, b, 2);
  EXPECT_EQ(b[1], 2);
  EXPECT_NE(op(MPI_REPLACE).loop(of(MPI_WCHAR)), nullptr);
}

TEST_F(OpTest, BothTablesGiveTheSameBits) {
  std::vector<uint8_t> in(64 * 333), start(64 * 333);
  for (uint8_t& byte : in)
    byte = static_cast<uint8_t>(random_() & 0xb7);  // no infinities in halves
  for (uint8_t& byte : start) byte = static_cast<uint8_t>(random_() & 0xb7);
  const reduce::Table& best = reduce::best_table();
  for (int cell = 0; cell < reduce::kRows * reduce::kColumns; ++cell) {
    ASSERT_EQ(best.loops[cell] == nullptr, reduce::kBaseline.loops[cell] == nullptr);
    if (best.loops[cell] == nullptr) continue;
    const auto number = static_cast<Number>(cell % reduce::kColumns);
    if (number == Number::kLongDouble || number == Number::kComplexLongDouble ||
        number == Number::kLongDoubleInt)
      continue;  // has bit patterns that are no numbers
    std::vector<uint8_t> one = start, two = start;
    best.loops[cell](in.data(), one.data(), 333);
    reduce::kBaseline.loops[cell](in.data(), two.data(), 333);
    EXPECT_EQ(one, two) << "row " << cell / reduce::kColumns << ", number "
                        << cell % reduce::kColumns;
  }
}

TEST_F(OpTest, DerivedTypesOfOneBasicTypeAreReducedWhereTheyLie) {
  const auto column = TypeBuilder().vector(3, 1, 2, of(MPI_INT));
  int in[6] = {1, 2, 3, 4, 5, 6}, inout[6] = {10, 20, 30, 40, 50, 60};
  ASSERT_TRUE(op(MPI_SUM).accepts(*column));
  op(MPI_SUM).apply(in, inout, 1, *column);
  EXPECT_EQ(std::vector<int>(inout, inout + 6), (std::vector<int>{11, 20, 33, 40, 55, 60}));
}

TEST_F(OpTest, DerivedTypesOfPaddedPairs) {
  using P = Located<double, int>;
  P in[4] = {{1, 5}, {9, 1}, {2, 2}, {7, 0}}, inout[4] = {{1, 3}, {8, 4}, {3, 6}, {8, 8}};
  const auto three = TypeBuilder().contiguous(4, of(MPI_DOUBLE_INT));
  op(MPI_MINLOC).apply(in, inout, 1, *three);
  const P expected[4] = {{1, 3}, {8, 4}, {2, 2}, {7, 0}};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(inout[i] == expected[i]) << i;
}

void add_user(void* in, void* inout, int* length, MPI_Datatype* type) {
  EXPECT_EQ(*type, MPI_INT);
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += 2 * static_cast<int*>(in)[i];
}

TEST_F(OpTest, UserFunctions) {
  Op user(add_user, false);
  EXPECT_FALSE(user.commutative());
  EXPECT_TRUE(user.accepts(of(MPI_PACKED)));
  int in[3] = {1, 2, 3}, inout[3] = {10, 10, 10};
  user.apply(in, inout, 3, of(MPI_INT));
  EXPECT_EQ(inout[2], 16);
}

MPI_Count counted;
int calls;
void count_small(void*, void*, int* length, MPI_Datatype*) {
  counted += *length;
  ++calls;
}
void count_large(void*, void*, MPI_Count* length, MPI_Datatype*) {
  counted += *length;
  ++calls;
}

TEST_F(OpTest, CountsBeyondAnIntAreSplitForTheSmallFormOnly) {
  const MPI_Count many = 5LL << 30;
  counted = calls = 0;
  Op(count_small, true).apply(nullptr, nullptr, many, of(MPI_BYTE));
  EXPECT_EQ(counted, many);
  EXPECT_EQ(calls, 3);
  counted = calls = 0;
  Op(count_large, true).apply(nullptr, nullptr, many, of(MPI_BYTE));
  EXPECT_EQ(counted, many);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tern::core::test
