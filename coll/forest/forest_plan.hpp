// SPDX-License-Identifier: Apache-2.0
// ForestPlan: the plan of the rows "forest": a machine, with forests made at first use. Equal
// machines give equal forests, so ranks with equal topologies agree.
// Threads: any. Cost: a first call makes a forest.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "coll/forest/form.hpp"
#include "coll/schedule/plan.hpp"

namespace tern::coll::forest {

class ForestPlan final : public Plan {
 public:
  explicit ForestPlan(Topology topology);

  [[nodiscard]] bool serves(Collective collective) const noexcept override;
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  /// The forests of a call, by phase, certified. Throws tern::Error.
  [[nodiscard]] Forests forests(Collective collective, int32_t root) const;

 private:
  [[nodiscard]] const Forest& forest(Collective collective, int32_t root) const;

  const Topology topology_;
  mutable std::mutex lock_;
  mutable std::map<std::pair<Collective, int32_t>, Forest> made_;
};

}  // namespace tern::coll::forest
