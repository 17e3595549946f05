// SPDX-License-Identifier: Apache-2.0
// The timeline: times respect dependencies, and known algorithms take their known rounds.
#include "coll/laboratory/timeline.hpp"

#include <gtest/gtest.h>

#include "coll/algorithms/algorithms.hpp"
#include "coll/lower/lower.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

std::vector<Schedule> all(const Algorithm& row, int32_t ranks, const Levels* levels) {
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < ranks; ++r) schedules.push_back(build(row, ranks, r, 0, levels));
  return schedules;
}

double end_of(Collective what, const char* name, int32_t ranks) {
  return timeline_of(all(*find_algorithm(what, name), ranks, nullptr)).end;
}

TEST(Timeline, HasEveryStepOnce) {
  const Levels levels = Levels::from_sizes(8, {4});
  for (const Algorithm& row : rows(true)) {
    const std::vector<Schedule> schedules = all(row, 8, &levels);
    size_t steps = 0;
    for (const Schedule& schedule : schedules) steps += schedule.steps.size();
    EXPECT_EQ(timeline_of(schedules).events.size(), steps)
        << name_of(row.collective) << " " << row.name;
  }
}

TEST(Timeline, HasEveryStepOfLoweredSchedulesOnce) {
  const Levels levels = Levels::from_sizes(8, {4});
  const auto far_apart = [](int32_t from, int32_t to) { return from % 3 == to % 3; };
  for (const Algorithm& row : rows(true))
    for (const bool all_mapped : {true, false}) {
      const auto mapped = [&](int32_t a, int32_t b) { return all_mapped || far_apart(a, b); };
      const std::vector<Schedule> schedules = lower(all(row, 8, &levels), mapped);
      size_t steps = 0;
      for (const Schedule& schedule : schedules) steps += schedule.steps.size();
      EXPECT_EQ(timeline_of(schedules).events.size(), steps)
          << name_of(row.collective) << " " << row.name;
    }
}

TEST(Timeline, APutTakesTheTimeOfAMessage) {
  const auto everywhere = [](int32_t, int32_t) { return true; };
  const auto end = [&](Collective what, const char* name) {
    return timeline_of(lower(all(*find_algorithm(what, name), 8, nullptr), everywhere)).end;
  };
  const double message = Timeline::kStart + 1, small = Timeline::kStart + 1.0 / 8;
  EXPECT_NEAR(end(Collective::kBcast, "chain"), 7 * message + Timeline::kCopy, 1e-9);
  EXPECT_NEAR(end(Collective::kBarrier, "dissemination"), 3 * Timeline::kStart, 1e-9);
  // The ring's last reduction is local. Ranks forward received slices before a local copy.
  EXPECT_NEAR(end(Collective::kAllreduce, "ring"),
              14 * small + Timeline::kReduce / 8 + 7 * Timeline::kCopy / 8, 1e-9);
}

TEST(Timeline, TakesTheRoundsOfTheAlgorithm) {
  const double message = Timeline::kStart + 1, small = Timeline::kStart + 1.0 / 8;
  EXPECT_NEAR(end_of(Collective::kBcast, "binomial", 8), 3 * message, 1e-9);
  EXPECT_NEAR(end_of(Collective::kBcast, "linear", 8), 7 * message, 1e-9);
  EXPECT_NEAR(end_of(Collective::kBcast, "chain", 8), 7 * message, 1e-9);
  EXPECT_NEAR(end_of(Collective::kAllreduce, "ring", 8), 14 * small + 7 * Timeline::kReduce / 8,
              1e-9);
  EXPECT_NEAR(end_of(Collective::kBarrier, "dissemination", 8), 3 * Timeline::kStart, 1e-9);
}

}  // namespace
}  // namespace tern::coll
