// SPDX-License-Identifier: Apache-2.0
// Groups: compression, look-up, set operations.
#include "core/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/process.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

using Peers = std::vector<uint32_t>;

Peers members(const Group& group) {
  Peers peers;
  for (int rank = 0; rank < group.size(); ++rank) peers.push_back(group.peer_index(rank));
  return peers;
}

void expect_holds(const Group& group, const Peers& expected) {
  ASSERT_EQ(group.size(), static_cast<int>(expected.size()));
  EXPECT_EQ(members(group), expected);
  const uint32_t top = expected.empty() ? 4 : *std::max_element(expected.begin(), expected.end());
  for (uint32_t peer = 0; peer <= top + 3; ++peer) {
    const auto place = std::find(expected.begin(), expected.end(), peer);
    const int rank =
        place == expected.end() ? MPI_UNDEFINED : static_cast<int>(place - expected.begin());
    ASSERT_EQ(group.rank_of(peer), rank) << "peer " << peer;
  }
}

TEST(Group, RangeForwardsBackwardsAndStrided) {
  expect_holds(Group(0, 1, 5), {0, 1, 2, 3, 4});
  expect_holds(Group(9, -3, 4), {9, 6, 3, 0});
  expect_holds(Group(7, 0, 1), {7});
  expect_holds(Group(0, 1, 0), {});
  EXPECT_TRUE(Group(0, 1, 5).identity());
  EXPECT_FALSE(Group(1, 1, 5).identity());
  EXPECT_FALSE(Group(0, 2, 5).identity());
}

TEST(Group, ListIsCompressedWhereItIsFewRanges) {
  EXPECT_EQ(Group(Peers{3, 5, 7, 9}).runs(), 1U);
  EXPECT_EQ(Group(Peers{0, 1, 2, 4, 5, 6}).runs(), 2U);
  expect_holds(Group(Peers{0, 1, 2, 4, 5, 6}), {0, 1, 2, 4, 5, 6});
  expect_holds(Group(Peers{4}), {4});
  expect_holds(Group(Peers{}), {});
}

TEST(Group, IrregularListIsATable) {
  Peers squares;
  for (uint32_t i = 0; i < 60; ++i) squares.push_back(i * i);
  std::reverse(squares.begin() + 10, squares.end());
  const Group group(squares);
  EXPECT_EQ(group.runs(), 0U);
  expect_holds(group, squares);
  const Group copy(group);
  expect_holds(copy, squares);
  EXPECT_TRUE(copy.equals(group));
}

TEST(Group, MillionMembersLessOneAreTwoRanges) {
  const auto rest = group_difference(Group(0, 1, 1000000), Group(1234, 1, 1));
  EXPECT_EQ(rest->size(), 999999);
  EXPECT_EQ(rest->runs(), 2U);
  EXPECT_EQ(rest->peer_index(1234), 1235U);
  EXPECT_EQ(rest->rank_of(1234), MPI_UNDEFINED);
}

TEST(Group, LargestPeerIndexDoesNotOverflow) {
  const Group group(UINT32_MAX - 1, -1000000000, 5);
  EXPECT_EQ(group.peer_index(4), UINT32_MAX - 1 - 4000000000U);
  EXPECT_EQ(group.rank_of(UINT32_MAX - 1 - 4000000000U), 4);
}

Peers random_peers(std::mt19937& random) {
  Peers all(40);
  std::iota(all.begin(), all.end(), 0U);
  if (random() % 2 == 0) std::shuffle(all.begin(), all.end(), random);
  all.resize(random() % 40);
  return all;
}

TEST(Group, SetOperationsKeepTheStandardsOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Peers a = random_peers(random), b = random_peers(random);
    const Group first(a), second(b);
    Peers both, only, either = a;
    for (const uint32_t peer : a)
      (std::count(b.begin(), b.end(), peer) != 0 ? both : only).push_back(peer);
    for (const uint32_t peer : b)
      if (std::count(a.begin(), a.end(), peer) == 0) either.push_back(peer);
    expect_holds(*group_union(first, second), either);
    expect_holds(*group_intersection(first, second), both);
    expect_holds(*group_difference(first, second), only);
  }
}

TEST(Group, Comparison) {
  const Group up(0, 1, 4), down(3, -1, 4), other(1, 1, 4), empty(0, 1, 0);
  EXPECT_EQ(group_compare(up, Group(Peers{0, 1, 2, 3})), MPI_IDENT);
  EXPECT_EQ(group_compare(up, down), MPI_SIMILAR);
  EXPECT_EQ(group_compare(up, other), MPI_UNEQUAL);
  EXPECT_EQ(group_compare(up, empty), MPI_UNEQUAL);
  EXPECT_EQ(group_compare(empty, Group(Peers{})), MPI_IDENT);
}

TEST(Group, EmptyIsAPredefinedHandle) {
  Process process;
  make_predefined_groups(process);
  ASSERT_NE(process.handles.find<Group>(MPI_GROUP_EMPTY), nullptr);
  EXPECT_EQ(process.handles.find<Group>(MPI_GROUP_EMPTY)->size(), 0);
  EXPECT_EQ(process.handles.find<Group>(MPI_GROUP_NULL), nullptr);
  end_predefined_groups(process);
  EXPECT_EQ(process.handles.find<Group>(MPI_GROUP_EMPTY), nullptr);
}

}  // namespace
}  // namespace tern::core
