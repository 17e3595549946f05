// SPDX-License-Identifier: Apache-2.0
// Worlds: indices, names and numbers of strangers, and their end.
#include "core/worlds.hpp"

#include <gtest/gtest.h>

#include "core/peer.hpp"

namespace tern::core {
namespace {

constexpr uint64_t kOwn = 11, kOther = 22, kThird = 33;
constexpr uint64_t kHere = 101, kThere = 102, kElsewhere = 103;
constexpr int kRanksThere = 3;

class WorldsTest : public testing::Test {
 protected:
  WorldsTest() { worlds.set_own(kOwn, 4); }
  uint32_t admit(uint64_t world, uint32_t rank, uint32_t number, uint64_t host = kThere,
                 bool shares_memory = false) {
    const auto admitted =
        worlds.admit({{world, rank}, number, number + 1, host, kRanksThere, shares_memory});
    return admitted ? admitted->index : 0;
  }
  PeerTable peers;
  Worlds worlds{peers};
};

TEST_F(WorldsTest, RanksOfTheOwnWorldKeepTheirIndices) {
  EXPECT_EQ(admit(kOwn, 3, 1), 3U);
  EXPECT_FALSE(worlds.is_stranger(3));
  EXPECT_EQ(worlds.find({kOwn, 2}), 2U);
  EXPECT_FALSE(worlds.any());
}

TEST_F(WorldsTest, StrangersFollowTheOwnWorld) {
  EXPECT_EQ(admit(kOther, 0, 1), 4U);
  EXPECT_EQ(admit(kOther, 1, 1), 5U);
  EXPECT_EQ(admit(kOther, 0, 7), 4U);  // known: the old number stays
  EXPECT_TRUE(worlds.is_stranger(4));
  EXPECT_EQ(worlds.find(1, 1), 5U);
  EXPECT_EQ(worlds.find(7, 0), std::nullopt);
  EXPECT_EQ(worlds.find({kOther, 1}), 5U);
  EXPECT_EQ(worlds.name_of(5), (ProcessName{kOther, 1}));
  EXPECT_EQ(worlds.name_of(2), (ProcessName{kOwn, 2}));
  EXPECT_EQ(peers.at(5).nspace, 1U);
  EXPECT_EQ(peers.at(5).rank, 1U);
  EXPECT_EQ(peers.at(5).there, 2U);
}

TEST_F(WorldsTest, ANumberNamesOneWorld) {
  ASSERT_NE(admit(kOther, 0, 1), 0U);
  EXPECT_FALSE(worlds.admit({{kThird, 0}, 1, 1, kThere, 1, false}));
  EXPECT_TRUE(worlds.used()[0]);
  EXPECT_TRUE(worlds.used()[1]);
  EXPECT_FALSE(worlds.used()[2]);
}

TEST_F(WorldsTest, ProcessesOfAHostHaveANode) {
  worlds.know_host(kHere, 2);
  const uint32_t here = admit(kOther, 0, 1, kHere), there = admit(kOther, 1, 1),
                 also_there = admit(kThird, 0, 2), elsewhere = admit(kThird, 1, 2, kElsewhere);
  EXPECT_EQ(worlds.node_of(here), 2);
  EXPECT_LT(worlds.node_of(there), 0);
  EXPECT_EQ(worlds.node_of(there), worlds.node_of(also_there));
  EXPECT_LT(worlds.node_of(elsewhere), 0);
  EXPECT_NE(worlds.node_of(there), worlds.node_of(elsewhere));
}

TEST_F(WorldsTest, EachWorldCountsOnceOnItsHost) {
  EXPECT_EQ(worlds.ranks_on(kHere), 0);
  const uint32_t one = admit(kOther, 0, 1, kHere);
  admit(kOther, 1, 1, kHere);
  EXPECT_EQ(worlds.ranks_on(kHere), kRanksThere);
  const uint32_t third = admit(kThird, 0, 2, kHere);
  EXPECT_EQ(worlds.ranks_on(kHere), 2 * kRanksThere);
  EXPECT_EQ(worlds.ranks_on(kThere), 0);
  worlds.forget(third);
  worlds.forget(one);
  EXPECT_EQ(worlds.ranks_on(kHere), kRanksThere);
}

TEST_F(WorldsTest, StrangersThatShareMemoryAreMarked) {
  const uint32_t one = admit(kOther, 0, 1, kHere, true), two = admit(kOther, 1, 1, kHere);
  EXPECT_TRUE(peers.at(one).shares_memory);
  EXPECT_FALSE(peers.at(two).shares_memory);
  EXPECT_EQ(worlds.sharing_memory(), 1U);
  worlds.forget(one);
  EXPECT_EQ(worlds.sharing_memory(), 0U);
}

TEST_F(WorldsTest, KnownWorldsAreListedOnce) {
  EXPECT_TRUE(worlds.known().empty());
  const uint32_t first = admit(kOther, 0, 1), second = admit(kOther, 1, 1);
  ASSERT_NE(admit(kThird, 0, 2), 0U);
  EXPECT_EQ(worlds.known().size(), 2U);
  worlds.forget(first);
  EXPECT_EQ(worlds.known().size(), 2U);
  worlds.forget(second);
  EXPECT_EQ(worlds.known(), std::vector<uint64_t>{kThird});
}

TEST_F(WorldsTest, TheLastHolderTakesTheStrangerOnce) {
  const uint32_t stranger = admit(kOther, 0, 1);  // holds
  worlds.hold({stranger});
  worlds.let_go({stranger});
  EXPECT_TRUE(worlds.take_unheld({stranger}).empty());
  worlds.let_go({stranger});
  EXPECT_EQ(worlds.take_unheld({stranger}).size(), 1U);
  EXPECT_TRUE(worlds.take_unheld({stranger}).empty());
}

TEST_F(WorldsTest, AForgottenStrangerComesBackWithAnotherIndex) {
  const uint32_t first = admit(kOther, 0, 1);
  worlds.forget(first);
  EXPECT_EQ(worlds.find({kOther, 0}), std::nullopt);
  EXPECT_FALSE(worlds.used()[1]);
  EXPECT_TRUE(worlds.all().empty());
  EXPECT_GT(admit(kThird, 0, 1), first);  // groups of the user may still name the first
}

}  // namespace
}  // namespace tern::core
