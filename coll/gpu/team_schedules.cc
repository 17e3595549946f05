// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/team_schedules.hpp"

#include <cstdint>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/lower/lower.hpp"

namespace tern::coll {

const Placed& TeamSchedules::exchange(Collective what) {
  const auto [found, made] = exchange_.try_emplace(what);
  if (made) {
    found->second.schedule.collective = what;
    found->second.schedule.algorithm = "pairwise";
  }
  return found->second;
}

const Placed* TeamSchedules::placed(const Algorithm& algorithm, int root, std::string* why,
                                    const Plan* plan) {
  if ((algorithm.limits & kPlan) == 0) plan = nullptr;
  const std::tuple key{&algorithm, root, plan};
  auto found = placed_.find(key);
  if (found == placed_.end()) {
    std::vector<Schedule> all;
    for (int32_t rank = 0; rank < ranks_; ++rank)
      all.push_back(build(algorithm, ranks_, rank, root, nullptr, plan));
    CachedSchedule made{
        std::make_unique<Placed>(), {}, plan == nullptr ? nullptr : plan->shared_from_this()};
    if (!place(lower(all, [](int32_t, int32_t) { return true; }), rank_, made.placed.get(),
               &made.why_not))
      made.placed = nullptr;
    else
      made.placed->row = &algorithm;
    found = placed_.emplace(key, std::move(made)).first;
  }
  if (found->second.placed == nullptr) *why = found->second.why_not;
  return found->second.placed.get();
}

}  // namespace tern::coll
