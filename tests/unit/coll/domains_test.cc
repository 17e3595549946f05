// SPDX-License-Identifier: Apache-2.0
// Domains: consecutive ranks of a single NUMA node, about the square root of all ranks.
#include "coll/flat/domains.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tern::coll {
namespace {

std::vector<int> sizes_of(const Domains& domains) {
  std::vector<int> sizes;
  for (int i = 0; i < domains.count(); ++i)
    sizes.push_back(domains.first(i + 1) - domains.first(i));
  return sizes;
}

void expect_sound(const Domains& domains, int ranks) {
  ASSERT_GE(domains.count(), 1);
  EXPECT_EQ(domains.first(0), 0);
  EXPECT_EQ(domains.first(domains.count()), ranks);
  for (const int size : sizes_of(domains)) {
    EXPECT_GE(size, 1) << ranks;
    EXPECT_LE(size, 2 * std::sqrt(ranks) + 1) << ranks;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_LE(domains.first(domains.of(rank)), rank) << ranks;
    EXPECT_LT(rank, domains.first(domains.of(rank) + 1)) << ranks;
  }
}

TEST(Domains, EqualPartsOfAnyNumber) {
  for (int ranks = 1; ranks <= 300; ++ranks) {
    const Domains domains(ranks);
    expect_sound(domains, ranks);
    EXPECT_LE(domains.count(), 2 * std::sqrt(ranks) + 1) << ranks;
  }
  EXPECT_EQ(sizes_of(Domains(96)), (std::vector<int>{9, 10, 9, 10, 10, 9, 10, 9, 10, 10}));
}

TEST(Domains, NodesAreNotMixed) {
  std::vector<int> nodes;
  for (const int length : {24, 24, 20, 28})
    nodes.insert(nodes.end(), static_cast<size_t>(length),
                 length == 20 ? 7 : 3 + (nodes.size() > 23));
  nodes.insert(nodes.end(), 1, 9);
  const Domains domains(nodes);
  expect_sound(domains, 97);
  for (int i = 0; i < domains.count(); ++i)
    for (int rank = domains.first(i); rank < domains.first(i + 1); ++rank)
      EXPECT_EQ(nodes[static_cast<size_t>(rank)], nodes[static_cast<size_t>(domains.first(i))]);
  EXPECT_EQ(sizes_of(domains), (std::vector<int>{12, 12, 12, 12, 10, 10, 9, 9, 10, 1}));
}

TEST(Domains, EqualPartsWithoutUsefulNodes) {
  std::vector<int> round, unbound(96, 0);
  for (int rank = 0; rank < 96; ++rank) round.push_back(rank % 4);
  unbound[50] = Domains::kUnknown;
  for (const auto& nodes : {round, unbound, std::vector<int>(96, 5)})
    EXPECT_EQ(sizes_of(Domains(nodes)), sizes_of(Domains(96)));
}

}  // namespace
}  // namespace tern::coll
