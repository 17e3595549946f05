// SPDX-License-Identifier: Apache-2.0
// Nodes: round trip, numbering, short encodings of usual placements.
#include "boot/nodes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tern::boot {
namespace {

void expect_same(const std::vector<int>& names) {
  const Nodes nodes(names);
  std::map<int, int> known;
  for (size_t rank = 0; rank < names.size(); ++rank)
    ASSERT_EQ(nodes.of(static_cast<int>(rank)),
              known.emplace(names[rank], static_cast<int>(known.size())).first->second)
        << "rank " << rank << " of " << names.size();
}

template <class NodeOf>
size_t stretches(int ranks, NodeOf node_of) {
  std::vector<int> names;
  for (int rank = 0; rank < ranks; ++rank) names.push_back(node_of(rank));
  expect_same(names);
  return Nodes(names).stretches();
}

TEST(Nodes, UsualPlacementsAreOneStretch) {
  EXPECT_EQ(stretches(1, [](int) { return 7; }), 1U);
  EXPECT_EQ(stretches(1024, [](int) { return 0; }), 1U);
  EXPECT_EQ(stretches(1024, [](int rank) { return rank; }), 1U);
  EXPECT_EQ(stretches(1024, [](int rank) { return 1000 - rank / 8; }), 1U) << "blocks";
  EXPECT_EQ(stretches(1021, [](int rank) { return rank / 8; }), 1U) << "a smaller last node";
  EXPECT_EQ(stretches(1024, [](int rank) { return rank % 128; }), 1U) << "in turn";
  EXPECT_EQ(stretches(1024, [](int rank) { return rank / 4 % 32; }), 1U) << "round robin";
  EXPECT_EQ(stretches(1021, [](int rank) { return rank < 3 ? -1 : (rank - 3) / 8; }), 2U);
}

TEST(Nodes, AnyPlacement) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<int> names(1 + random() % 24);
    const unsigned nodes = 1 + random() % 4;
    for (int& name : names) name = static_cast<int>(random() % nodes);
    if (round % 2 == 0) std::sort(names.begin(), names.end());
    expect_same(names);
  }
}

}  // namespace
}  // namespace tern::boot
