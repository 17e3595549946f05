// SPDX-License-Identifier: Apache-2.0
// Rounds of an exchange: domains cover the range, and memory does not grow with the ranks.
#include "io/stage.hpp"

#include <gtest/gtest.h>

namespace tern::io {
namespace {

constexpr int64_t kBuffer = 1 << 20;

TEST(Rounds, DomainsCoverTheRangeOnce) {
  for (const int ranks : {2, 3, 8}) {
    Stage stage;
    stage.make(ranks, kBuffer);
    for (const int64_t first : {int64_t{0}, int64_t{4095}, int64_t{123456789}})
      for (const int64_t bytes : {int64_t{1}, int64_t{4096}, int64_t{70000}, int64_t{1} << 33}) {
        const Rounds rounds = stage.plan(first, first + bytes, 64);
        EXPECT_LE(rounds.begin_of(0), first);
        EXPECT_GE(rounds.begin_of(rounds.count()), first + bytes);
        EXPECT_LT(rounds.begin_of(rounds.count() - 1), first + bytes);
        EXPECT_EQ(rounds.domain % 4096, 0);
      }
  }
}

TEST(Rounds, ADomainAndItsMapFitHalfOfARanksMemory) {
  Stage stage;
  stage.make(4, kBuffer);
  for (int bit = 0; bit < 20; ++bit) {
    const Rounds rounds = stage.plan(0, int64_t{1} << 40, uint64_t{1} << bit);
    EXPECT_LE(rounds.domain + (rounds.domain >> rounds.shift), kBuffer / 2) << "bit " << bit;
    EXPECT_GT(rounds.domain, kBuffer / 8) << "bit " << bit;
  }
}

TEST(Rounds, AThousandRanksNeedNoMoreMemoryEach) {
  Stage stage;
  stage.make(1024, 65536);
  const Rounds rounds = stage.plan(0, int64_t{1} << 40, 8);
  EXPECT_LE(rounds.domain, 65536 / 2);
  EXPECT_EQ(rounds.range(), rounds.domain * 1024);
}

}  // namespace
}  // namespace tern::io
