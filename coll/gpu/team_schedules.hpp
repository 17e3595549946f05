// SPDX-License-Identifier: Apache-2.0
// TeamSchedules: a team's schedules, lowered and placed once.
// Why: lowering is too slow for each call. Programs, waits and graphs point to placed schedules.
// Lifetime: the team's. Threads: the caller holds the team's mutex.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "coll/gpu/placed.hpp"

namespace tern::coll {

struct Algorithm;

class TeamSchedules {
 public:
  TeamSchedules(int ranks, int rank) noexcept : ranks_(ranks), rank_(rank) {}
  TeamSchedules(const TeamSchedules&) = delete;
  TeamSchedules& operator=(const TeamSchedules&) = delete;

  [[nodiscard]] const Placed* placed(const Algorithm& algorithm, int root, std::string* why,
                                     const Plan* plan = nullptr);
  /// exchange() has no schedule, and describes waits in exchange_run.hpp.
  [[nodiscard]] const Placed& exchange(Collective what);
  using Said = std::tuple<const Placed*, int, int>;
  [[nodiscard]] bool is_news(const Said& said) { return said_.insert(said).second; }

 private:
  const int ranks_, rank_;
  struct CachedSchedule {
    std::unique_ptr<Placed> placed;
    std::string why_not;
    std::shared_ptr<const Plan> plan;
  };
  std::map<std::tuple<const Algorithm*, int, const Plan*>, CachedSchedule> placed_;
  std::map<Collective, Placed> exchange_;
  std::set<Said> said_;
};

}  // namespace tern::coll
