// SPDX-License-Identifier: Apache-2.0
// TeamSchedules: schedules of a team, lowered and placed once, and not freed before the team.
// Why: lowering takes the schedules of all ranks, too long for each call; programs, waits and
// graphs point to the placed ones. Lifetime: of the team. Threads: the caller holds the team's
// mutex. See: coll/gpu/placed.hpp.
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

  /// Null with *why where the algorithm has no schedule that the scratch holds.
  [[nodiscard]] const Placed* placed(const Algorithm& algorithm, int root, std::string* why);
  /// Stands for an operation without a schedule (exchange_run.hpp), where waits are described.
  [[nodiscard]] const Placed& exchange(Collective what);
  /// A row, the way, and a size, which are explained once.
  using Said = std::tuple<const Placed*, int, int>;
  [[nodiscard]] bool is_news(const Said& said) { return said_.insert(said).second; }

 private:
  const int ranks_, rank_;
  struct Kept {
    std::unique_ptr<Placed> placed;  // null: *why_not
    std::string why_not;
  };
  std::map<std::pair<const Algorithm*, int>, Kept> placed_;
  std::map<Collective, Placed> exchange_;
  std::set<Said> said_;
};

}  // namespace tern::coll
