// SPDX-License-Identifier: Apache-2.0
// Hostile bytes in the shared memory and in the messages of the start.
#include <gtest/gtest.h>

#include <climits>
#include <random>
#include <vector>

#include "tests/fuzz/pmix_values.hpp"
#include "tests/fuzz/shared_job.hpp"

namespace tern::boot {
namespace {

TEST(PmixValues, BytesThatAreNotThereAreNone) {
  pmix_value_t value{};
  std::string text;
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.size = 100;
  EXPECT_FALSE(bytes_of(value, &text));
  value.data.bo.size = 0;
  EXPECT_TRUE(bytes_of(value, &text));
  EXPECT_EQ(text, "");
  value.type = PMIX_STRING;
  EXPECT_FALSE(bytes_of(value, &text));
}

TEST(PmixValues, NumbersThatDoNotFitAreNone) {
  pmix_value_t value{};
  long long number = 0;
  value.type = PMIX_UINT64;
  value.data.uint64 = UINT64_MAX;
  EXPECT_FALSE(number_of(value, &number));
  EXPECT_EQ(count_of((1LL << 32) + 1, -1), -1) << "not one";
  EXPECT_EQ(count_of(INT_MAX, -1), INT_MAX);
}

TEST(PmixValues, RanksOnceAndInOrder) {
  EXPECT_EQ(ranks_of("3,1,1,2,9,-1,99999999999999999999,x,0", 4), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ranks_of("", 4), std::vector<int>{});
}

TEST(PmixValues, AShortConnectionInfoIsFilledWithZeros) {
  EXPECT_EQ(connection_info_of("ab")[2], std::byte{0});
  EXPECT_EQ(connection_info_of(std::string(1000, 'x'))[127], std::byte{'x'});
}

TEST(Hostile, RandomPrograms) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> program(128);
    for (uint8_t& byte : program) byte = static_cast<uint8_t>(random());
    fuzz::drive_shared_job(program.data(), program.size());
    fuzz::drive_pmix_values(program.data(), program.size());
  }
}

}  // namespace
}  // namespace tern::boot
