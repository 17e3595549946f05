// SPDX-License-Identifier: Apache-2.0
// Timeline: predicted start and end of all steps, with one message in and one out per rank at a
// time. Units: sending a block takes 1, plus kStart per message; reducing kReduce, copying kCopy.
// Lowered schedules: the sender alone starts a put; signals after puts, and initial credits, cost
// nothing.
#pragma once

#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Timeline {
  static constexpr double kStart = 0.3, kReduce = 0.25, kCopy = 0.15;

  struct Event {
    int32_t rank;
    int lane;
    int32_t step;
    double begin, end;
  };
  std::vector<Event> events;
  double end = 0;
};

/// `schedules[r]` is rank r's proved schedule; a deadlock ends the timeline early.
[[nodiscard]] Timeline timeline_of(const std::vector<Schedule>& schedules);

}  // namespace tern::coll
