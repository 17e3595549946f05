// SPDX-License-Identifier: Apache-2.0
// Every predefined operation on every predefined type against plain C++, user functions,
// rejections.
#include "tests/unit/core/op_test.hpp"

#include <complex>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>

#include "base/error.hpp"
#include "core/reduce/table.hpp"
#include "mpix.h"

namespace tern::core::test {
namespace {

const MPI_Op kArithmetic[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
const MPI_Op kLogical[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
const MPI_Op kBitwise[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
const MPI_Op kLocated[] = {MPI_MINLOC, MPI_MAXLOC};

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

#if defined(__SIZEOF_FLOAT128__)
TEST_F(OpTest, QuadPrecision) {
  __extension__ typedef __float128 Quad;
  Quad a = 1, b = Quad(1) / (Quad(1ULL << 60) * Quad(1ULL << 40));
  const Quad sum = a + b;
  ASSERT_TRUE(sum != 1);
  (void)op(MPI_SUM).apply(&a, &b, 1, of(MPI_REAL16));
  EXPECT_TRUE(b == sum);
  Quad x[2] = {1, 2}, y[2] = {3, 4};
  (void)op(MPI_PROD).apply(x, y, 1, of(MPI_COMPLEX32));
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
      EXPECT_NE(text.find(of(row.type).name.text()), std::string::npos) << text;
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

void expect_same_bits(const loops::Table& table, const std::vector<uint8_t>& in,
                      const std::vector<uint8_t>& start) {
  for (int cell = 0; cell < loops::kRows * loops::kColumns; ++cell) {
    ASSERT_EQ(table.loops[cell] == nullptr, loops::kBaseline.loops[cell] == nullptr);
    if (table.loops[cell] == nullptr) continue;
    const auto number = static_cast<Number>(cell % loops::kColumns);
    if (number == Number::kLongDouble || number == Number::kComplexLongDouble ||
        number == Number::kLongDoubleInt)
      continue;
    std::vector<uint8_t> one = start, two = start;
    table.loops[cell](in.data(), one.data(), 333);
    loops::kBaseline.loops[cell](in.data(), two.data(), 333);
    EXPECT_EQ(one, two) << "row " << cell / loops::kColumns << ", number "
                        << cell % loops::kColumns;
  }
}

TEST_F(OpTest, AllTablesGiveTheSameBits) {
  std::vector<uint8_t> in(64 * 333), start(64 * 333);
  for (uint8_t& byte : in) byte = static_cast<uint8_t>(random_() & 0xb7);
  for (uint8_t& byte : start) byte = static_cast<uint8_t>(random_() & 0xb7);
  expect_same_bits(loops::best_table(), in, start);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) expect_same_bits(loops::kAvx2, in, start);
#endif
}

TEST_F(OpTest, DerivedTypesOfOneBasicTypeAreReducedWhereTheyLie) {
  const auto column = TypeBuilder().vector(3, 1, 2, of(MPI_INT));
  int in[6] = {1, 2, 3, 4, 5, 6}, inout[6] = {10, 20, 30, 40, 50, 60};
  ASSERT_TRUE(op(MPI_SUM).accepts(*column));
  (void)op(MPI_SUM).apply(in, inout, 1, *column);
  EXPECT_EQ(std::vector<int>(inout, inout + 6), (std::vector<int>{11, 20, 33, 40, 55, 60}));
}

TEST_F(OpTest, DerivedTypesOfPaddedPairs) {
  using P = Located<double, int>;
  P in[4] = {{1, 5}, {9, 1}, {2, 2}, {7, 0}}, inout[4] = {{1, 3}, {8, 4}, {3, 6}, {8, 8}};
  const auto three = TypeBuilder().contiguous(4, of(MPI_DOUBLE_INT));
  (void)op(MPI_MINLOC).apply(in, inout, 1, *three);
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
