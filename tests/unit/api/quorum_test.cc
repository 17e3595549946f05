// SPDX-License-Identifier: Apache-2.0
// Messages of agreements between hosts: any words from the network are refused or harmless.
#include "api/fault/quorum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tern::api::test {
namespace {

constexpr size_t kMembers = 12;

/// Four hosts of three members.
Quorum quorum() {
  Quorum made;
  made.peers.resize(kMembers);
  for (int host = 0; host < 4; ++host) made.hosts.push_back({3 * host, 3 * host + 1, 3 * host + 2});
  return made;
}

fault::HostMessage example() {
  fault::HostMessage message;
  message.kind = fault::HostMessage::Kind::kAnswer;
  message.from = 1;
  message.root = 3;
  message.missing = {2, 3};
  message.word = {0xfffffff0, {0, 7, 11}, {7}};
  return message;
}

TEST(Quorum, UnpacksItsMessages) {
  const std::vector<uint32_t> words = pack(example(), (uint64_t{5} << 32) + 9);
  EXPECT_LE(words.size(), most_words(kMembers));
  fault::HostMessage got;
  uint64_t number = 0;
  ASSERT_TRUE(unpack(words, quorum(), &got, &number));
  EXPECT_EQ(number, (uint64_t{5} << 32) + 9);
  EXPECT_EQ(got.kind, example().kind);
  EXPECT_EQ(got.from, 1);
  EXPECT_EQ(got.root, 3);
  EXPECT_EQ(got.missing, example().missing);
  EXPECT_EQ(got.word, example().word);
}

TEST(Quorum, RefusesDamagedMessages) {
  const std::vector<uint32_t> whole = pack(example(), 1);
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint32_t> words = whole;
    words.resize(random() % (whole.size() + 3));
    for (uint32_t changes = random() % 3; changes > 0 && !words.empty(); --changes)
      words[random() % words.size()] = random() % 2 == 0 ? random() : random() % 16;
    fault::HostMessage got;
    uint64_t number = 0;
    if (!unpack(words, quorum(), &got, &number)) {
      ++refused;
      continue;
    }
    EXPECT_LT(got.from, static_cast<int>(kMembers));
    EXPECT_LT(got.root, 4);
    for (const int host : got.missing) EXPECT_TRUE(host > got.from / 3 && host < 4);
    EXPECT_TRUE(std::is_sorted(got.word.failed.begin(), got.word.failed.end()));
    for (const auto* list : {&got.word.failed, &got.word.acked})
      for (const int member : *list)
        EXPECT_TRUE(member >= 0 && member < static_cast<int>(kMembers));
  }
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace tern::api::test
