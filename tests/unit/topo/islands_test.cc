// SPDX-License-Identifier: Apache-2.0
#include "topo/islands.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tern::topo {
namespace {

std::vector<int> islands(const std::vector<std::string>& rows) {
  Reach reach(static_cast<int>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < rows.size(); ++j)
      reach.set(static_cast<int>(i), static_cast<int>(j), rows[i][j] == '1');
  return islands_of(reach);
}
using Islands = std::vector<int>;

TEST(Islands, OfNothingOneAndAll) {
  EXPECT_EQ(islands({}), Islands{});
  EXPECT_EQ(islands({"0"}), Islands{0});
  EXPECT_EQ(islands({"111", "111", "111"}), (Islands{0, 0, 0}));
  EXPECT_EQ(islands({"000", "000", "000"}), (Islands{0, 1, 2}));
}

TEST(Islands, PairsNeedNotBeNeighbours) {
  EXPECT_EQ(islands({"1100", "1100", "0011", "0011"}), (Islands{0, 0, 2, 2}));
  EXPECT_EQ(islands({"1010", "0101", "1010", "0101"}), (Islands{0, 1, 0, 1}));
}

TEST(Islands, OneWayIsNoWay) { EXPECT_EQ(islands({"111", "011", "011"}), (Islands{0, 1, 1})); }

TEST(Islands, AllMembersReachEachOther) {
  EXPECT_EQ(islands({"1101", "1111", "0111", "1111"}), (Islands{0, 0, 2, 0}));
  EXPECT_EQ(islands({"1100", "1110", "0111", "0011"}), (Islands{0, 0, 2, 2})) << "a chain";
}

}  // namespace
}  // namespace tern::topo
