// SPDX-License-Identifier: Apache-2.0
// Wait reports as text: round trip, truncation, hostile bytes.
#include "base/wait_report.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tern {
namespace {

TEST(WaitReport, ComesBackAsItWent) {
  const std::vector<WaitReport> sent{{"MPI_Recv", "waits for a\nmessage\x1f", {3, 1}, false, 1.5},
                                     {"MPI_Waitany", "", {}, true, 0}};
  const std::vector<WaitReport> got = decode_wait_reports(encode(sent, 4096));
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].call, "MPI_Recv");
  EXPECT_EQ(got[0].words, "waits for a message ");
  EXPECT_EQ(got[0].ranks, (std::vector<int>{3, 1}));
  EXPECT_FALSE(got[0].any);
  EXPECT_DOUBLE_EQ(got[0].seconds, 1.5);
  EXPECT_TRUE(got[1].any);
  EXPECT_TRUE(got[1].ranks.empty());
}

TEST(WaitReport, WhatDoesNotFitIsLeftOut) {
  WaitReport many{"MPI_Recv", std::string(1000, 'w'), {}, true, 1};
  for (int rank = 0; rank < 10000; ++rank) many.wait_for(rank);
  const std::string text = encode({many, many}, 4080);
  EXPECT_LE(text.size(), 4080U);
  const std::vector<WaitReport> got = decode_wait_reports(text);
  ASSERT_FALSE(got.empty());
  EXPECT_TRUE(got[0].ranks.empty()) << "half of the ranks would be a lie";
  EXPECT_EQ(encode({many}, 10), "");
  const WaitReport wordy{"MPI_Recv", std::string(250, 'w'), {1}, false, 1};
  const std::vector<WaitReport> some = decode_wait_reports(encode({wordy, wordy, wordy}, 700));
  ASSERT_EQ(some.size(), 3U);
  EXPECT_EQ(some[1].ranks, (std::vector<int>{1}));
  EXPECT_TRUE(some[2].ranks.empty());
}

TEST(WaitReport, AnyBytesBecomeTextAndNumbers) {
  std::minstd_rand random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 200, '\0');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? 0x1f : random());
    for (const WaitReport& report : decode_wait_reports(text)) {
      for (const char c : report.call + report.words)
        EXPECT_GE(static_cast<unsigned char>(c), 0x20);
      for (const int rank : report.ranks) EXPECT_GE(rank, 0);
    }
  }
}

}  // namespace
}  // namespace tern
