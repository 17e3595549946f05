// SPDX-License-Identifier: Apache-2.0
// Trees of synthetic machines, and of this machine.
#include "topo/tree.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "topo/cpus.hpp"

namespace tern::topo {
namespace {

using Kind = MachinePart::Kind;

Tree tree_of(const char* description) {
  ::setenv("HWLOC_SYNTHETIC", description, 1);
  Tree tree = machine_tree();
  ::unsetenv("HWLOC_SYNTHETIC");
  return tree;
}

const MachinePart& first_inside(const MachinePart& part, int levels) {
  return levels == 0 ? part : first_inside(part.parts.at(0), levels - 1);
}

TEST(Tree, LevelsStandInTheOrderPackageNumaCacheCorePu) {
  const Tree tree = tree_of("pack:4 numa:2 l3:1 core:8 pu:2");
  EXPECT_FALSE(tree.this_machine);
  const Kind kinds[] = {Kind::kMachine, Kind::kPackage, Kind::kNuma,
                        Kind::kL3,      Kind::kCore,    Kind::kPu};
  for (int level = 0; level < 6; ++level)
    EXPECT_EQ(first_inside(tree.machine, level).kind, kinds[level]) << "level " << level;
  EXPECT_EQ(count_of(tree.machine, Kind::kPackage), 4u);
  EXPECT_EQ(count_of(tree.machine, Kind::kNuma), 8u);
  EXPECT_EQ(count_of(tree.machine, Kind::kL3), 8u);
  EXPECT_EQ(count_of(tree.machine, Kind::kCore), 64u);
  EXPECT_EQ(pus_of(tree.machine).size(), 128u);
  EXPECT_EQ(pus_of(tree.machine, true).size(), 128u) << "a synthetic machine forbids nothing";
}

TEST(Tree, EqualPartsAreAlikeWhateverTheirNumbers) {
  const Tree tree = tree_of("pack:2 numa:2 l3:1 core:2 pu:2");
  const auto& packages = tree.machine.parts;
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_TRUE(alike(packages[0], packages[1]));
  MachinePart changed = packages[1];
  changed.parts[1].parts[0].parts[1].parts[0].allowed = false;
  EXPECT_FALSE(alike(packages[0], changed));
}

TEST(Tree, MemoryOfTheMachineIsAroundItsPackagesAndFurtherMemoryBeside) {
  const Tree one = tree_of("numa:1 pack:2 core:2 pu:1");
  EXPECT_EQ(count_of(one.machine, Kind::kNuma), 1u);
  EXPECT_EQ(count_of(one.machine, Kind::kPackage), 2u);
  const Tree two = tree_of("pack:1 [numa(memory=1GB)] [numa(memory=16GB)] core:4 pu:1");
  const MachinePart& package = two.machine.parts.at(0);
  ASSERT_EQ(package.parts.size(), 2u);
  EXPECT_EQ(pus_of(package.parts[0]).size(), 4u);
  EXPECT_TRUE(pus_of(package.parts[1]).empty());
  EXPECT_GT(package.parts[1].bytes, package.parts[0].bytes);
}

TEST(Tree, OfThisMachineTheAllowedPusAreThoseOfTheAffinityMask) {
  const Tree tree = machine_tree();
  EXPECT_TRUE(tree.this_machine);
  EXPECT_EQ(static_cast<int>(pus_of(tree.machine, true).size()), allowed_cpu_count());
}

}  // namespace
}  // namespace tern::topo
