// SPDX-License-Identifier: Apache-2.0
// Timeline: when each step of each rank would run, on ranks that send and receive one message at a
// time. Why: a schedule is drawn, and its rounds counted, without running it. Units: sending one
// block takes 1, plus kStart for each message; a reduction kReduce and a copy kCopy of a block.
// Blocks of a vector split into k have 1 / k of its size: the time for the whole vector is 1.
// Lowered schedules: a put, and a reduction that puts, is a message that its sender alone has to
// begin; a signal behind one costs nothing, nor does a credit, which is there at first.
// Cost: of the order of the steps. See: tern_coll draw, tests/unit/coll/timeline_test.cc.
#pragma once

#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Timeline {
  static constexpr double kStart = 0.3, kReduce = 0.25, kCopy = 0.15;

  /// One step; of a message both ends' begin and end are the transfer's.
  struct Event {
    int32_t rank;
    int lane;
    int32_t step;
    double begin, end;
  };
  std::vector<Event> events;
  double end = 0;
};

/// `schedules[r]` is rank r's; they must be proved (a deadlock ends the line early).
[[nodiscard]] Timeline timeline_of(const std::vector<Schedule>& schedules);

}  // namespace tern::coll
