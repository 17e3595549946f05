// SPDX-License-Identifier: Apache-2.0
// Which processors ranks get on machines of several shapes.
#include "tools/mpirun/binding.hpp"

#include <gtest/gtest.h>

namespace tern::mpirun {
namespace {

using Cpus = std::vector<int>;

// `nodes` nodes of `cores` cores with two threads each: core i has processors i and i + all.
std::vector<topo::Core> machine(int nodes, int cores) {
  std::vector<topo::Core> result;
  const int all = nodes * cores;
  for (int i = 0; i < all; ++i) result.push_back({{i, i + all}, i / cores});
  return result;
}

TEST(Binding, EqualSharesOfNeighbours) {
  const auto bound = bind_ranks(Bind::kShare, 3, machine(2, 4));
  EXPECT_EQ(bound[0], (Cpus{0, 8, 1, 9}));
  EXPECT_EQ(bound[1], (Cpus{2, 10, 3, 11, 4, 12}));
  EXPECT_EQ(bound[2], (Cpus{5, 13, 6, 14, 7, 15}));
}

TEST(Binding, NoneWhenRanksExceedCores) {
  for (const auto& cpus : bind_ranks(Bind::kShare, 9, machine(2, 4))) EXPECT_TRUE(cpus.empty());
  for (const auto& cpus : bind_ranks(Bind::kNone, 2, machine(2, 4))) EXPECT_TRUE(cpus.empty());
  EXPECT_TRUE(bind_ranks(Bind::kShare, 1, machine(2, 4))[0].empty());
  EXPECT_TRUE(bind_ranks(Bind::kCore, 2, {})[0].empty());
}

TEST(Binding, CoresInTurn) {
  const auto bound = bind_ranks(Bind::kCore, 5, machine(1, 4));
  EXPECT_EQ(bound[1], (Cpus{1, 5}));
  EXPECT_EQ(bound[4], (Cpus{0, 4}));
}

TEST(Binding, NumaNodesInBlocks) {
  const auto bound = bind_ranks(Bind::kNuma, 4, machine(2, 2));
  EXPECT_EQ(bound[0], (Cpus{0, 4, 1, 5}));
  EXPECT_EQ(bound[1], bound[0]);
  EXPECT_EQ(bound[2], (Cpus{2, 6, 3, 7}));
  EXPECT_EQ(bind_ranks(Bind::kNuma, 1, machine(2, 2))[0], (Cpus{0, 4, 1, 5}));
}

TEST(Binding, InWords) {
  const auto cores = machine(2, 2);
  EXPECT_EQ(binding_in_words(2, {1, 5, 2, 6}, cores), "rank 2: processors 1-2,5-6 (NUMA node 0-1)");
  EXPECT_EQ(binding_in_words(0, {}, cores), "rank 0: not bound");
}

}  // namespace
}  // namespace tern::mpirun
