// SPDX-License-Identifier: Apache-2.0
// Schedules with a fault that their proof must find.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

template <class Look>
void each_dropped_step(const std::vector<Schedule>& whole, const Look& look) {
  for (size_t rank = 0; rank < whole.size(); ++rank)
    for (size_t i = 0; i < whole[rank].steps.size(); ++i) {
      std::vector<Schedule> schedules = whole;
      Step& victim = schedules[rank].steps[i];
      victim.verb = Verb::kJoin;
      victim.sources = victim.destinations = 0;
      look(schedules, rank, i);
    }
}

}  // namespace tern::coll
