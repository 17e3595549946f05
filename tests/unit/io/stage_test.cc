// SPDX-License-Identifier: Apache-2.0
// Rounds of an exchange: domains cover the range, and memory does not grow with the ranks.
#include "io/stage.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tern::io {
namespace {

constexpr int64_t kBuffer = 1 << 20;

Stage stage_of(int domains, int64_t bytes, int64_t stripe = 0) {
  Stage stage;
  stage.make({bytes * domains, domains, stripe});
  return stage;
}

TEST(Rounds, DomainsCoverTheRangeOnce) {
  for (const int64_t stripe : {0, 4096, 65536, 1 << 20, 5000})
    for (const int domains : {2, 3, 8}) {
      const Stage stage = stage_of(domains, kBuffer, stripe);
      for (const int64_t first : {int64_t{0}, int64_t{4095}, int64_t{123456789}})
        for (const int64_t bytes : {int64_t{1}, int64_t{4096}, int64_t{70000}, int64_t{1} << 30}) {
          const Rounds rounds = stage.plan(first, first + bytes, 64);
          EXPECT_LE(rounds.begin_of(0), first);
          EXPECT_GE(rounds.begin_of(rounds.count()), first + bytes);
          EXPECT_LT(rounds.begin_of(rounds.count() - 1), first + bytes);
          const int64_t round = rounds.count() - 1;
          std::vector<std::pair<int64_t, int64_t>> pieces;
          for (int64_t i = 0; i < rounds.pieces; ++i)
            for (int domain = 0; domain < domains; ++domain)
              pieces.push_back(rounds.piece_of(round, domain, i));
          int64_t end = 0;
          for (const auto& [from, to] : pieces) {
            EXPECT_LE(from, to);
            if (from < to) {
              EXPECT_EQ(from, end);
              end = to;
            }
          }
          EXPECT_GE(rounds.begin_of(round) + end, first + bytes);
          EXPECT_LT(rounds.begin_of(round) + end, first + bytes + 64);
        }
    }
}

TEST(Rounds, AStripeHasOneAggregator) {
  const int64_t stripe = 65536;
  const Stage stage = stage_of(3, kBuffer, stripe);
  const Rounds rounds = stage.plan(5 * stripe + 17, int64_t{1} << 30, 4096);
  EXPECT_EQ(rounds.piece, stripe);
  EXPECT_EQ(rounds.first, 3 * stripe);
  EXPECT_GT(rounds.pieces, 1);
  EXPECT_EQ(rounds.range() % (3 * stripe), 0);
}

TEST(Rounds, AStripeBeyondTheMemoryDoesNotMoveTheBegin) {
  const Stage stage = stage_of(3, kBuffer, int64_t{1} << 30);
  const Rounds rounds = stage.plan(int64_t{5} << 30, (int64_t{5} << 30) + 100, 4);
  EXPECT_EQ(rounds.first, int64_t{5} << 30);
  EXPECT_EQ(rounds.count(), 1);
}

TEST(Rounds, DomainsAndMarksFitHalfOfTheMemory) {
  const Stage stage = stage_of(4, kBuffer);
  for (int bit = 0; bit < 20; ++bit) {
    const Rounds rounds = stage.plan(0, int64_t{1} << 40, uint64_t{1} << bit);
    EXPECT_LE(rounds.range() + (rounds.range() >> rounds.shift), 4 * kBuffer / 2) << "bit " << bit;
    EXPECT_GT(rounds.piece, kBuffer / 8) << "bit " << bit;
  }
}

TEST(Rounds, AThousandRanksNeedNoMoreMemoryEach) {
  const Stage stage = stage_of(1024, 65536);
  const Rounds rounds = stage.plan(0, int64_t{1} << 40, 8);
  EXPECT_LE(rounds.piece, 65536 / 2);
  EXPECT_EQ(rounds.range(), rounds.piece * 1024);
}

TEST(Rounds, MostDomainsHaveAPageEach) {
  for (const int64_t bytes : {int64_t{1}, int64_t{65536}, kBuffer}) {
    Stage stage;
    stage.make({std::max<int64_t>(bytes, 65536), StageShape::most_domains(bytes), 0});
    EXPECT_GE(stage.plan(0, int64_t{1} << 40, 1).piece, 4096) << bytes;
  }
}

}  // namespace
}  // namespace tern::io
