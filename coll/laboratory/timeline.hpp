// SPDX-License-Identifier: Apache-2.0
// Timeline: predicted start and end of each rank's steps, with one message sent and one received at
// a time. Why: draws a schedule and counts its rounds without a run. Units: sending a block takes
// 1, plus kStart per message; reducing a block kReduce, copying kCopy. Blocks of a vector split
// into k have size 1 / k. Lowered schedules: only the sender starts a put, or a reduction that
// puts; its signal and initial credits cost nothing. Cost: O(steps). See: tern_coll draw,
// tests/unit/coll/timeline_test.cc.
#pragma once

#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Timeline {
  static constexpr double kStart = 0.3, kReduce = 0.25, kCopy = 0.15;

  /// A step; both ends of a message have the transfer's times.
  struct Event {
    int32_t rank;
    int lane;
    int32_t step;
    double begin, end;
  };
  std::vector<Event> events;
  double end = 0;
};

/// `schedules[r]` is rank r's. Schedules must be proved: a deadlock ends the timeline early.
[[nodiscard]] Timeline timeline_of(const std::vector<Schedule>& schedules);

}  // namespace tern::coll
