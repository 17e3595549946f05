// SPDX-License-Identifier: Apache-2.0
// The processors of each rank.
#include "tools/mpirun/binding.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

using Cores = std::vector<topo::Core>;

// Core i has processors i and i + all. Each node is a package with an L3 cache per two cores.
Cores machine(int nodes, int cores) {
  Cores result;
  const int all = nodes * cores;
  for (int i = 0; i < all; ++i) result.push_back({{i, i + all}, i / cores, i / cores, i / 2});
  return result;
}

Placing bound_to(Unit unit) {
  Placing placing;
  placing.bind = Bind::kUnit;
  placing.bind_unit = unit;
  return placing;
}

Placing mapped_by(Unit unit, int per_unit = 0) {
  Placing placing;
  placing.map = unit;
  placing.per_unit = per_unit;
  return placing;
}

std::string refusal(const Placing& placing, int ranks, const Cores& cores) {
  try {
    (void)bind_ranks(placing, ranks, cores);
  } catch (const Error& error) {
    return error.what();
  }
  return "(taken)";
}

TEST(Binding, EqualSharesOfNeighbours) {
  const auto bound = bind_ranks({}, 3, machine(2, 4));
  EXPECT_EQ(bound[0], (Cpus{0, 8, 1, 9}));
  EXPECT_EQ(bound[1], (Cpus{2, 10, 3, 11, 4, 12}));
  EXPECT_EQ(bound[2], (Cpus{5, 13, 6, 14, 7, 15}));
}

TEST(Binding, NoneWhenRanksExceedCores) {
  Placing none;
  none.bind = Bind::kNone;
  for (const auto& cpus : bind_ranks({}, 9, machine(2, 4))) EXPECT_TRUE(cpus.empty());
  for (const auto& cpus : bind_ranks(none, 2, machine(2, 4))) EXPECT_TRUE(cpus.empty());
  EXPECT_TRUE(bind_ranks({}, 1, machine(2, 4))[0].empty());
  EXPECT_TRUE(bind_ranks(bound_to(Unit::kCore), 2, {})[0].empty());
}

TEST(Binding, CoresInTurn) {
  const auto bound = bind_ranks(bound_to(Unit::kCore), 5, machine(1, 4));
  EXPECT_EQ(bound[1], (Cpus{1, 5}));
  EXPECT_EQ(bound[4], (Cpus{0, 4}));
}

TEST(Binding, HardwareThreadsInTurn) {
  const auto bound = bind_ranks(bound_to(Unit::kThread), 3, machine(1, 2));
  EXPECT_EQ(bound[0], (Cpus{0}));
  EXPECT_EQ(bound[1], (Cpus{2}));
  EXPECT_EQ(bound[2], (Cpus{1}));
}

TEST(Binding, NumaNodesInBlocks) {
  const Placing numa = bound_to(Unit::kNuma);
  const auto bound = bind_ranks(numa, 4, machine(2, 2));
  EXPECT_EQ(bound[0], (Cpus{0, 4, 1, 5}));
  EXPECT_EQ(bound[1], bound[0]);
  EXPECT_EQ(bound[2], (Cpus{2, 6, 3, 7}));
  EXPECT_EQ(bind_ranks(numa, 1, machine(2, 2))[0], (Cpus{0, 4, 1, 5}));
}

TEST(Binding, CachesAndPackages) {
  const auto caches = bind_ranks(bound_to(Unit::kL3), 4, machine(2, 4));
  EXPECT_EQ(caches[0], (Cpus{0, 8, 1, 9}));
  EXPECT_EQ(caches[3], (Cpus{6, 14, 7, 15}));
  const auto packages = bind_ranks(bound_to(Unit::kPackage), 2, machine(2, 2));
  EXPECT_EQ(packages[1], (Cpus{2, 6, 3, 7}));
}

TEST(Mapping, RoundTheNodesShared) {
  const auto bound = bind_ranks(mapped_by(Unit::kNuma), 4, machine(2, 4));
  EXPECT_EQ(bound[0], (Cpus{0, 8, 1, 9}));
  EXPECT_EQ(bound[1], (Cpus{4, 12, 5, 13}));
  EXPECT_EQ(bound[2], (Cpus{2, 10, 3, 11}));
  EXPECT_EQ(bound[3], (Cpus{6, 14, 7, 15}));
}

TEST(Mapping, NumberedOneNodeAfterTheOther) {
  Placing placing = mapped_by(Unit::kNuma);
  placing.rank_given = true;
  const auto bound = bind_ranks(placing, 4, machine(2, 4));
  EXPECT_EQ(bound[1], (Cpus{2, 10, 3, 11}));
  EXPECT_EQ(bound[2], (Cpus{4, 12, 5, 13}));
}

TEST(Mapping, NumberedRoundTheNodes) {
  Placing placing = mapped_by(Unit::kCore);
  placing.rank_given = true;
  placing.rank = Unit::kNuma;
  const auto bound = bind_ranks(placing, 4, machine(2, 2));
  EXPECT_EQ(bound[0], (Cpus{0, 4}));
  EXPECT_EQ(bound[1], (Cpus{2, 6}));
  EXPECT_EQ(bound[2], (Cpus{1, 5}));
}

TEST(Mapping, SoManyOnEach) {
  const auto bound = bind_ranks(mapped_by(Unit::kNuma, 2), 3, machine(2, 4));
  EXPECT_EQ(bound[1], (Cpus{2, 10, 3, 11}));
  EXPECT_EQ(bound[2], (Cpus{4, 12, 5, 13, 6, 14, 7, 15}));
  EXPECT_NE(refusal(mapped_by(Unit::kNuma, 2), 5, machine(2, 4)).find("room for 4 on 2 parts"),
            std::string::npos);
}

TEST(Mapping, SoManyCoresEach) {
  Placing placing;
  placing.cores_each = 2;
  EXPECT_EQ(bind_ranks(placing, 2, machine(1, 4))[1], (Cpus{2, 6, 3, 7}));
  EXPECT_NE(refusal(placing, 3, machine(1, 4)).find("3 ranks of 2 cores each do not fit the 4"),
            std::string::npos);
}

TEST(Mapping, OversubscriptionRuledOut) {
  Placing placing;
  placing.may_oversubscribe = false;
  EXPECT_EQ(refusal(placing, 4, machine(1, 4)), "(taken)");
  EXPECT_NE(refusal(placing, 5, machine(1, 4)).find("5 ranks are more than the 4 cores"),
            std::string::npos);
}

TEST(Binding, InWords) {
  const auto cores = machine(2, 2);
  EXPECT_EQ(binding_in_words(2, {1, 5, 2, 6}, cores), "rank 2: processors 1-2,5-6 (NUMA node 0-1)");
  EXPECT_EQ(binding_in_words(0, {}, cores), "rank 0: not bound");
}

}  // namespace
}  // namespace tern::mpirun
