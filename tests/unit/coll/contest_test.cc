// SPDX-License-Identifier: Apache-2.0
// Contest drops slow rows, keeps good rows in noise, stays within its budget, and restarts when the
// machine changes. All ranks take the same rows.
#include "coll/select/contest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace tern::coll {
namespace {

using Rows = std::vector<const Algorithm*>;
using Cost = std::function<double(const Algorithm& row, uint64_t call)>;

constexpr double kAgreement = 1, kLook = 0.05;

const Algorithm& row(size_t i) { return algorithms(Collective::kAllreduce)[i]; }
Rows rows_of(size_t count) {
  Rows rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(&row(i));
  return rows;
}

struct Ranks {
  Ranks(const Rows& rows, bool learns, bool known, size_t many = 1)
      : contests(many, Contest(rows, 1, kAgreement, learns, known)) {}

  double call(const Cost& cost, const std::function<double()>& noise) {
    ++calls;
    Contest& first = contests.front();
    const bool looks = first.left == 1;
    const Algorithm& taken = looks ? first.row() : first.serving();
    const double took = cost(taken, calls);
    bool ends = false;
    for (Contest& one : contests) {
      EXPECT_EQ(looks, one.left == 1);
      EXPECT_EQ(&taken, looks ? &one.row() : &one.serving());
      if (--one.left == 0) ends = one.take(static_cast<int64_t>(took * noise() * 1000));
    }
    if (!ends) return took + (looks ? look : 0);
    std::vector<uint32_t> worst(first.times().begin(), first.times().end());
    for (const Contest& one : contests)
      for (size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], one.times()[i]);
    for (Contest& one : contests)
      one.agree(worst, static_cast<uint32_t>(kAgreement * 1000),
                static_cast<uint32_t>(look * 1000));
    return took + look + kAgreement;
  }
  [[nodiscard]] const Algorithm& serving() const { return contests.front().serving(); }

  std::vector<Contest> contests;
  uint64_t calls = 0;
  double look = kLook;
};

double quiet() { return 1; }

Cost steady(const std::vector<double>& costs) {
  return [costs](const Algorithm& taken, uint64_t) {
    return costs[static_cast<size_t>(&taken - &row(0))];
  };
}

TEST(Contest, LeavesARowThreeTimesTooSlow) {
  for (const std::vector<double>& costs :
       {std::vector<double>{3, 1, 1.2, 5}, {3, 5, 1.5, 1}, {30, 10, 40, 35}}) {
    Ranks run(rows_of(4), false, false);
    for (int i = 0; i < 2000; ++i) run.call(steady(costs), quiet);
    EXPECT_EQ(static_cast<size_t>(&run.serving() - &row(0)),
              static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
  }
}

TEST(Contest, KeepsTheRightRowInNoise) {
  int kept = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::lognormal_distribution<double> spread(0, 0.2);
    std::bernoulli_distribution disturbed(0.01);
    const auto noise = [&] { return spread(random) * (disturbed(random) ? 50 : 1); };
    const Cost modes = [](const Algorithm& taken, uint64_t call) {
      return steady({1, 1.05, 1.1, 1.5})(taken, call) * ((call / 1777) % 2 == 0 ? 1 : 2.2);
    };
    Ranks run(rows_of(4), false, false, 2);
    for (int i = 0; i < 10000; ++i) run.call(modes, noise);
    kept += &run.serving() == &row(0) ? 1 : 0;
  }
  EXPECT_GE(kept, 99);
}

TEST(Contest, CostsTwoInAHundred) {
  for (const std::vector<double>& costs : {std::vector<double>{1, 1.1, 1.9, 3},
                                           {1, 3, 3, 3},
                                           {1, 0.99, 1, 1},
                                           {0.33, 0.66, 0.33, 1},
                                           {10, 30, 30, 30}}) {
    Ranks run(rows_of(4), false, false);
    double spent = 0;
    for (int calls = 1; calls <= 100000; ++calls) {
      spent += run.call(steady(costs), quiet) - costs[0];
      if (calls >= 100) {
        ASSERT_LE(spent, 0.02 * calls * costs[0]) << calls;
      }
    }
    EXPECT_EQ(&run.serving(), &row(0));
  }
}

// The first estimate assumes a cheap clock.
TEST(Contest, ChargesASlowClock) {
  Ranks run(rows_of(4), false, false);
  run.look = 1;
  double spent = 0;
  for (int calls = 1; calls <= 100000; ++calls) {
    spent += run.call(steady({1, 1.1, 1.9, 3}), quiet) - 1;
    if (calls >= 5000) {
      ASSERT_LE(spent, 0.02 * calls) << calls;
    }
  }
  EXPECT_GT(run.contests.front().rounds(), 5U);
}

TEST(Contest, NoticesThatTheMachineHasChanged) {
  Ranks run(rows_of(3), false, false);
  const Cost changing = [](const Algorithm& taken, uint64_t call) {
    return steady(call < 20000 ? std::vector<double>{1, 1.3, 1.4} : std::vector<double>{4, 1.3, 3})(
        taken, call);
  };
  for (int i = 0; i < 20000; ++i) run.call(changing, quiet);
  EXPECT_EQ(&run.serving(), &row(0));
  for (int i = 0; i < 10000; ++i) run.call(changing, quiet);
  EXPECT_EQ(&run.serving(), &row(1));
}

TEST(Contest, NoticesThatTheSecondBestHasBecomeTheBest) {
  Ranks run(rows_of(3), false, false);
  const Cost changing = [](const Algorithm& taken, uint64_t call) {
    return steady({1, call < 20000 ? 1.3 : 0.6, 1.4})(taken, call);
  };
  for (int i = 0; i < 35000; ++i) run.call(changing, quiet);
  EXPECT_EQ(&run.serving(), &row(1));
}

TEST(Contest, LearnsInAFewHundredCalls) {
  Ranks run(rows_of(4), true, false);
  for (int i = 0; i < 300; ++i) run.call(steady({3, 2.9, 1.5, 1}), quiet);
  EXPECT_EQ(&run.serving(), &row(3));
  EXPECT_TRUE(run.contests.front().is_decided());
}

TEST(Contest, BelievesALineUntilItIsWrong) {
  Ranks run(rows_of(2), false, true);
  EXPECT_TRUE(run.contests.front().is_decided());
  for (int i = 0; i < 1000; ++i) {
    run.call(steady({1, 0.5}), quiet);
    EXPECT_EQ(&run.serving(), &row(0));
  }
  for (int i = 0; i < 9000; ++i) run.call(steady({1, 0.5}), quiet);
  EXPECT_EQ(&run.serving(), &row(1));
}

TEST(Contest, ADisturbedPairDecidesNothing) {
  Ranks run(rows_of(2), false, false);
  // Another process disturbs the first block of the better row.
  const Cost disturbed = [](const Algorithm& taken, uint64_t call) {
    return steady({1, call < 700 ? 9.0 : 0.5})(taken, call);
  };
  for (int i = 0; i < 4000; ++i) run.call(disturbed, quiet);
  EXPECT_EQ(&run.serving(), &row(1));
}

TEST(Contest, ARowThatWasHopelessIsTriedAgainOnAnotherMachine) {
  Ranks run(rows_of(2), false, false);
  const Cost changing = [](const Algorithm& taken, uint64_t call) {
    return steady(call < 20000 ? std::vector<double>{1, 9} : std::vector<double>{9, 1})(taken,
                                                                                        call);
  };
  for (int i = 0; i < 20000; ++i) run.call(changing, quiet);
  EXPECT_EQ(&run.serving(), &row(0));
  for (int i = 0; i < 10000; ++i) run.call(changing, quiet);
  EXPECT_EQ(&run.serving(), &row(1));
}

TEST(Contest, TheProgramsLoopDoesNotDecide) {
  for (uint64_t phase = 0; phase < 8; ++phase) {
    Ranks run(rows_of(3), true, false);
    const Cost looped = [phase](const Algorithm& taken, uint64_t call) {
      return steady({1, 1.02, 1.05})(taken, call) + ((call + phase) % 8 < 4 ? 1 : 0);
    };
    for (int i = 0; i < 3000; ++i) run.call(looped, quiet);
    EXPECT_EQ(&run.serving(), &row(0)) << phase;
  }
}

TEST(Contest, HasNothingToDoAlone) {
  for (const bool known : {false, true}) {
    Ranks run(rows_of(1), true, known);
    for (int i = 0; i < 500; ++i) run.call(steady({1}), quiet);
    EXPECT_EQ(run.contests.front().rounds(), 0U);
  }
}

TEST(Contest, AllRanksTakeTheSameRows) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> own(0.5, 3);
  Ranks run(rows_of(4), false, false, 5);
  for (int i = 0; i < 20000; ++i)  // call() compares the rows of all ranks
    run.call(steady({1, 0.9, 0.8, 2}), [&] { return own(random); });
}

TEST(Contest, CannotOverflow) {
  Ranks run(rows_of(2), true, false);
  for (int i = 0; i < 500; ++i) run.call(steady({1e9, 1e9}), quiet);
  EXPECT_GT(run.contests.front().rounds(), 0U);
}

}  // namespace
}  // namespace tern::coll
