// SPDX-License-Identifier: Apache-2.0
// external32: known numbers of every basic type, and random types against a reference model.
#include "core/external32.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>

#include "core/process.hpp"
#include "datatype_reference.hpp"

namespace tern::core::test {
namespace {

class External32Test : public ::testing::Test {
 protected:
  External32Test() { make_predefined_types(process_); }
  ~External32Test() override { free_predefined_types(process_); }
  Datatype& of(MPI_Datatype constant) { return predefined_type(process_, constant); }

  std::string packed(const Datatype& type, const void* value, MPI_Count count = 1) {
    std::string bytes(static_cast<size_t>(count * external32_size(type)), 'x');
    pack_external32(type, value, count, bytes.data());
    std::string hex;
    for (const char byte : bytes) {
      static const char digits[] = "0123456789abcdef";
      hex += digits[static_cast<unsigned char>(byte) >> 4];
      hex += digits[byte & 15];
    }
    return hex;
  }
  template <class T>
  void expect(MPI_Datatype constant, T value, const char* hex) {
    const Datatype& type = of(constant);
    EXPECT_EQ(packed(type, &value), hex) << type.name.text();
    EXPECT_EQ(static_cast<size_t>(external32_size(type)) * 2, std::strlen(hex)) << type.name.text();
    std::string bytes(std::strlen(hex) / 2, '\0');
    pack_external32(type, &value, 1, bytes.data());
    T again{};
    unpack_external32(type, &again, 1, bytes.data());
    EXPECT_EQ(again, value) << type.name.text();
  }
  Process process_;
};

TEST_F(External32Test, Integers) {
  expect<char>(MPI_CHAR, 'A', "41");
  expect<signed char>(MPI_SIGNED_CHAR, -2, "fe");
  expect<short>(MPI_SHORT, -2, "fffe");
  expect<unsigned short>(MPI_UNSIGNED_SHORT, 0x1234, "1234");
  expect<int>(MPI_INT, 0x01020304, "01020304");
  expect<unsigned>(MPI_UNSIGNED, 0xfffefdfc, "fffefdfc");
  expect<long long>(MPI_LONG_LONG_INT, -3, "fffffffffffffffd");
  expect<int64_t>(MPI_INT64_T, 0x0102030405060708, "0102030405060708");
  expect<MPI_Aint>(MPI_AINT, 258, "0000000000000102");
  expect<MPI_Count>(MPI_COUNT, -258, "fffffffffffffefe");
  expect<int>(MPI_INTEGER, 7, "00000007");
  expect<int64_t>(MPI_INTEGER8, 7, "0000000000000007");
  expect<int>(MPI_LOGICAL, 1, "00000001");
  expect<bool>(MPI_C_BOOL, true, "01");
  expect<bool>(MPI_CXX_BOOL, false, "00");
}

TEST_F(External32Test, IntegersOfAnotherSizeInMemory) {
  expect<long>(MPI_LONG, -2, "fffffffe");
  expect<long>(MPI_LONG, 0x7ffffffe, "7ffffffe");
  expect<unsigned long>(MPI_UNSIGNED_LONG, 0xfffffffe, "fffffffe");
  expect<wchar_t>(MPI_WCHAR, L'\u20ac', "20ac");
}

TEST_F(External32Test, Reals) {
  expect<float>(MPI_FLOAT, -1.5F, "bfc00000");
  expect<double>(MPI_DOUBLE, 1.0, "3ff0000000000000");
  expect<double>(MPI_REAL8, -2.0, "c000000000000000");
  expect<uint16_t>(MPI_REAL2, 0x3c00, "3c00");
  expect<long double>(MPI_LONG_DOUBLE, 1.0L, "3fff0000000000000000000000000000");
  expect<long double>(MPI_LONG_DOUBLE, -0.1L,
                      sizeof(long double) == 16 && __LDBL_MANT_DIG__ == 64
                          ? "bffb999999999999999a000000000000"
                          : "bffb999999999999999999999999999a");
  EXPECT_EQ(external32_size(of(MPI_REAL16)), 16);
}

TEST_F(External32Test, ComplexNumbersAreTwoReals) {
  expect<std::complex<float>>(MPI_C_FLOAT_COMPLEX, {1.0F, -1.0F}, "3f800000bf800000");
  expect<std::complex<double>>(MPI_DOUBLE_COMPLEX, {1.0, 2.0}, "3ff00000000000004000000000000000");
  expect<std::complex<long double>>(
      MPI_C_LONG_DOUBLE_COMPLEX, {1.0L, 2.0L},
      "3fff000000000000000000000000000040000000000000000000000000000000");
  EXPECT_EQ(external32_size(of(MPI_COMPLEX4)), 4);
  EXPECT_EQ(external32_size(of(MPI_COMPLEX32)), 32);
}

TEST_F(External32Test, PairsHaveNoGap) {
  struct {
    short value;
    int index;
  } small{-2, 5};
  EXPECT_EQ(packed(of(MPI_SHORT_INT), &small), "fffe00000005");
  struct {
    long value;
    int index;
  } two[2] = {{-2, 5}, {3, -1}};
  EXPECT_EQ(packed(of(MPI_LONG_INT), two, 2), "fffffffe0000000500000003ffffffff");
  struct {
    long double value;
    int index;
  } wide{1.0L, 5};
  EXPECT_EQ(packed(of(MPI_LONG_DOUBLE_INT), &wide), "3fff000000000000000000000000000000000005");
  struct {
    double value;
    int index;
  } plain{1.0, 5}, again{};
  EXPECT_EQ(packed(of(MPI_DOUBLE_INT), &plain), "3ff000000000000000000005");
  char bytes[12];
  pack_external32(of(MPI_DOUBLE_INT), &plain, 1, bytes);
  unpack_external32(of(MPI_DOUBLE_INT), &again, 1, bytes);
  EXPECT_EQ(again.value, 1.0);
  EXPECT_EQ(again.index, 5);
}

TEST_F(External32Test, SizesChangeInsideDerivedTypes) {
  Datatype* types[] = {&of(MPI_SHORT), &of(MPI_LONG), &of(MPI_WCHAR)};
  const MPI_Count lengths[] = {1, 2, 1}, places[] = {0, 8, 24};
  auto record = TypeBuilder().structure(3, lengths, places, types);
  auto vector = TypeBuilder().vector(2, 1, 2, *record);
  struct {
    short a;
    long b[2];
    wchar_t c;
  } data[3] = {{1, {2, -3}, L'x'}, {}, {-4, {5, 6}, L'y'}};
  static_assert(sizeof data[0] == 32);
  EXPECT_EQ(external32_size(*vector), 24);
  EXPECT_EQ(packed(*vector, data), "000100000002fffffffd0078fffc00000005000000060079");
}

/// The sizes identify the basic types of RandomTypes.
std::vector<char> by_model(const Model& model, MPI_Count count, const char* origin) {
  std::vector<char> out;
  for (MPI_Count element = 0; element < count; ++element) {
    size_t next = 0;
    for (const int64_t basic : model.basics) {
      const int64_t numbers = basic == 16 ? 2 : 1, bytes = basic / numbers;
      for (int64_t number = 0; number < numbers; ++number, next += static_cast<size_t>(bytes))
        for (int64_t i = bytes; i-- > 0;)
          out.push_back(
              origin[element * model.extent() + model.bytes[next + static_cast<size_t>(i)]]);
    }
  }
  return out;
}

TEST_F(External32Test, RandomTypesThereAndBack) {
  constexpr int64_t kReach = 1 << 16;
  RandomTypes random(process_, 32);
  std::vector<char> memory(2 * kReach);
  for (char& byte : memory) byte = static_cast<char>(random.pick(0, 255));
  int packed_ones = 0;
  for (int round = 0; round < 2000; ++round) {
    const Sample sample = random.make(3);
    const MPI_Count count = random.pick(1, 4);
    int64_t reach = 0;
    for (const int64_t byte : sample.model.bytes)
      reach = std::max({reach, std::abs(byte), std::abs(byte + 4 * sample.model.extent())});
    if (reach >= kReach) continue;
    const std::vector<char> expected = by_model(sample.model, count, &memory[kReach]);
    ASSERT_EQ(external32_size(*sample.type) * count, static_cast<MPI_Count>(expected.size()));
    std::vector<char> got(expected.size()), back(2 * kReach);
    pack_external32(*sample.type, &memory[kReach], count, got.data());
    ASSERT_EQ(got, expected);
    unpack_external32(*sample.type, &back[kReach], count, got.data());
    std::vector<char> times_set(2 * kReach);
    for (const int64_t byte : sample.model.bytes) {
      char& times = times_set[static_cast<size_t>(kReach + byte)];
      times = static_cast<char>(std::min(times + 1, 2));
    }
    for (const int64_t byte : sample.model.bytes) {
      const auto at = static_cast<size_t>(kReach + byte);
      if (times_set[at] == 1 && count == 1) {
        ASSERT_EQ(back[at], memory[at]);
      }
    }
    ++packed_ones;
  }
  EXPECT_GT(packed_ones, 1000);
}

TEST_F(External32Test, MoreThanOneWindow) {
  constexpr int kCount = 100000;
  auto pairs = TypeBuilder().hvector(kCount, 1, 12, of(MPI_INT));
  std::vector<char> memory(kCount * 12), back(kCount * 12), external(kCount * 4);
  for (int i = 0; i < kCount; ++i) std::memcpy(&memory[static_cast<size_t>(i) * 12], &i, sizeof i);
  pack_external32(*pairs, memory.data(), 1, external.data());
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(static_cast<unsigned char>(external[i * 4 + 3]), i % 256);
  unpack_external32(*pairs, back.data(), 1, external.data());
  EXPECT_EQ(back, memory);
}

}  // namespace
}  // namespace tern::core::test
