// SPDX-License-Identifier: Apache-2.0
// Aggregators: their number, and their distribution over hosts.
#include "io/hosts.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tern::io {
namespace {

// Three hosts with ranks {0, 1, 4}, {2, 5, 6, 7} and {3}.
const std::vector<int> kLeaders = {0, 0, 2, 3, 0, 2, 2, 2};

std::vector<int> chosen(int64_t per_host, int64_t most) {
  Hosts hosts(kLeaders, 5);
  hosts.choose(per_host, most);
  std::vector<int> ranks;
  for (const Hosts::Aggregator& one : hosts.aggregators()) ranks.push_back(one.rank);
  return ranks;
}

TEST(Hosts, KnowTheirRanks) {
  const Hosts hosts(kLeaders, 5);
  EXPECT_EQ(hosts.count(), 3u);
  EXPECT_EQ(hosts.mine(), 1u);
  EXPECT_EQ(hosts.locals(), (std::vector<int>{2, 5, 6, 7}));
  EXPECT_EQ(hosts.local_rank(), 1);
  EXPECT_EQ(hosts.fewest(), 1);
  EXPECT_EQ(hosts.leaders(), (std::vector<int>{0, 2, 3}));
}

TEST(Hosts, AggregatorsAreSpreadOverHosts) {
  EXPECT_EQ(chosen(1, 0), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(chosen(1, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(chosen(2, 0), (std::vector<int>{0, 1, 2, 5, 3}));
  EXPECT_EQ(chosen(2, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(chosen(0, 0), (std::vector<int>{0, 1, 4, 2, 5, 6, 7, 3}));
}

TEST(Hosts, EachHostHasAPartnerForEachAggregator) {
  Hosts hosts(kLeaders, 5);
  hosts.choose(0, 0);
  EXPECT_EQ(hosts.own_domain(), 4);
  for (const Hosts::Aggregator& one : hosts.aggregators())
    for (size_t host = 0; host < hosts.count(); ++host) {
      const int partner = hosts.partner(host, one);
      EXPECT_EQ(kLeaders[static_cast<size_t>(partner)], hosts.leaders()[host]);
      if (host == one.host) EXPECT_EQ(partner, one.rank);
    }
}

}  // namespace
}  // namespace tern::io
