// SPDX-License-Identifier: Apache-2.0
// Trees: every rank is below the root, a path crosses each level once, two trees share the work.
#include "coll/algorithms/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "coll/algorithms/ranks.hpp"
#include "coll/algorithms/swing.hpp"

namespace tern::coll {
namespace {

int32_t depth_of(const Tree& tree, int32_t rank) {
  int32_t depth = 0;
  for (; tree.parent(rank) >= 0; rank = tree.parent(rank)) ++depth;
  return depth;
}

TEST(Tree, KNomialSubtreesAreRunsFromTheRootRound) {
  for (const int32_t radix : {2, 3, 4, 8})
    for (int32_t ranks = 1; ranks <= 70; ++ranks)
      for (const int32_t root : {0, ranks / 3, ranks - 1}) {
        const Tree tree = Tree::k_nomial(ranks, root, radix);
        for (int32_t rank = 0; rank < ranks; ++rank) {
          const std::vector<int32_t> subtree = tree.subtree(rank);
          for (size_t i = 0; i < subtree.size(); ++i)
            ASSERT_EQ(subtree[i], (rank + static_cast<int32_t>(i)) % ranks);
          const RankPlace place = k_nomial_place(ranks, root, radix, rank);
          EXPECT_EQ(place.parent, tree.parent(rank))
              << rank << " of " << ranks << ", root " << root;
          EXPECT_EQ(place.children, tree.children(rank))
              << rank << " of " << ranks << ", root " << root;
          EXPECT_LE(depth_of(tree, rank), std::ceil(std::log2(ranks) / std::log2(radix) - 1e-9));
        }
        EXPECT_EQ(static_cast<int32_t>(tree.subtree(root).size()), ranks);
      }
}

// From the root, each step of falling distance adds the partner of every node reached so far.
TEST(Tree, BineReachesEachRankOnceByItsFarthestStep) {
  for (int32_t ranks = 1; ranks <= 300; ++ranks)
    for (const int32_t root : {0, ranks / 3, ranks - 1}) {
      const int32_t size = floor_power(ranks), extra = ranks - size;
      const SwingSteps swing(size);
      const auto rank_of = [&](int32_t node) {
        return (root + node + std::min(node, extra)) % ranks;
      };
      std::vector<RankPlace> places(static_cast<size_t>(ranks));
      const auto attach = [&](int32_t child, int32_t parent) {
        places[static_cast<size_t>(child)].parent = parent;
        places[static_cast<size_t>(parent)].children.push_back(child);
      };
      std::vector<int32_t> reached{0};
      for (int32_t step = swing.steps() - 1; step >= 0; --step)
        for (size_t i = reached.size(); i-- > 0;) {
          reached.push_back(swing.partner(reached[i], step));
          attach(rank_of(reached.back()), rank_of(reached[i]));
        }
      for (int32_t node = 0; node < extra; ++node)
        attach((rank_of(node) + 1) % ranks, rank_of(node));
      for (int32_t rank = 0; rank < ranks; ++rank) {
        const RankPlace place = bine_place(ranks, root, rank),
                        &wanted = places[static_cast<size_t>(rank)];
        ASSERT_EQ(place.parent, wanted.parent) << rank << " of " << ranks << ", root " << root;
        ASSERT_EQ(place.children, wanted.children) << rank << " of " << ranks << ", root " << root;
      }
    }
}

TEST(Tree, APlaceByLevelsIsThePlaceInTheTree) {
  for (const int32_t ranks : {5, 16, 37, 64}) {
    std::vector<int64_t> dealt, pairs, uneven;  // hosts without consecutive ranks
    for (int64_t rank = 0; rank < ranks; ++rank) {
      dealt.push_back(rank % 3);
      pairs.push_back(rank % 2);
      uneven.push_back(rank * rank % 5);
    }
    for (const Levels& levels :
         {Levels::from_sizes(ranks, {8}), Levels::from_sizes(ranks, {8, 3}),
          Levels::from_sizes(ranks, {16, 8, 2}), Levels::from_sizes(ranks, {5, 2}),
          Levels::from_names({dealt, pairs}), Levels::from_names({uneven, pairs})}) {
      if (levels.empty()) continue;
      for (int32_t root = 0; root < ranks; ++root) {
        const Tree tree = Tree::by_levels(&levels, ranks, root);
        for (int32_t rank = 0; rank < ranks; ++rank) {
          const RankPlace place = place_by_levels(&levels, ranks, root, rank);
          EXPECT_EQ(place.parent, tree.parent(rank))
              << rank << " of " << ranks << ", root " << root;
          EXPECT_EQ(place.children, tree.children(rank))
              << rank << " of " << ranks << ", root " << root;
        }
      }
    }
  }
}

TEST(Tree, LevelsAreCrossedOncePerGroup) {
  for (const int32_t ranks : {5, 16, 37, 64}) {
    const Levels levels = Levels::from_sizes(ranks, {8, 3});
    for (int32_t root = 0; root < ranks; ++root) {
      const Tree tree = Tree::by_levels(&levels, ranks, root);
      EXPECT_EQ(static_cast<int32_t>(tree.subtree(root).size()), ranks);
      for (const auto& level : levels.groups) {
        std::vector<int32_t> entered(static_cast<size_t>(ranks), 0);
        for (int32_t rank = 0; rank < ranks; ++rank) {
          const auto mine = static_cast<size_t>(level[static_cast<size_t>(rank)]);
          const int32_t parent = tree.parent(rank);
          if (parent < 0 || level[static_cast<size_t>(parent)] != static_cast<int32_t>(mine))
            ++entered[mine];
        }
        for (const int32_t group : level) EXPECT_EQ(entered[static_cast<size_t>(group)], 1);
      }
    }
  }
}

TEST(Tree, NobodyIsInsideBothTreesOfAPair) {
  for (int32_t count = 1; count <= 200; ++count) {
    const DoubleTree trees[] = {{count, false}, {count, true}};
    for (const DoubleTree& tree : trees) {
      int32_t roots = 0;
      for (int32_t node = 1; node <= count; ++node) {
        const int32_t parent = tree.parent(node);
        if (parent == 0)
          ++roots;
        else
          EXPECT_TRUE(tree.left(parent) == node || tree.right(parent) == node);
        int32_t steps = 0;
        for (int32_t at = node; tree.parent(at) != 0; at = tree.parent(at))
          ASSERT_LE(++steps, 9) << "no way to the root";
      }
      EXPECT_EQ(roots, 1);
    }
    for (int32_t node = 1; node <= count && count > 1; ++node)
      EXPECT_TRUE(trees[0].right(node) == 0 || trees[1].right(node) == 0);
  }
}

TEST(Levels, LeaveOutWhatTellsNothing) {
  EXPECT_TRUE(Levels::from_sizes(8, {8}).empty());
  EXPECT_TRUE(Levels::from_sizes(8, {1}).empty());
  EXPECT_EQ(Levels::from_sizes(8, {4, 4, 2}).groups.size(), 2U);
  EXPECT_EQ(Levels::from_names({{7, 7, 3, 3}}), Levels::from_sizes(4, {2}));
  // An inner group never spans two outer groups.
  EXPECT_EQ(Levels::from_names({{0, 0, 1, 1}, {5, 6, 6, 7}}).groups.size(), 1U);
  EXPECT_EQ(Levels::from_sizes(8, {4}).text(), "2 hosts of 4 ranks");
  EXPECT_FALSE(Levels::from_sizes(7, {4}).equal_hosts());
}

TEST(Levels, RunsAreConsecutiveRanks) {
  const std::vector<RankRun> runs = runs_of({3, 4, 5, 0, 1, 7});
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].count, 3);
  EXPECT_EQ(runs[1].first, 0);
  EXPECT_TRUE(runs_of({}).empty());
}

}  // namespace
}  // namespace tern::coll
