// SPDX-License-Identifier: Apache-2.0
// ForestPlan: the plan of the rows "forest": a machine, with forests made at first use. The maker
// calculates with integers, so ranks with equal machines and equal `known` forests agree.
// Threads: any. Cost: a first call makes a forest.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "coll/forest/form.hpp"
#include "coll/schedule/plan.hpp"

namespace tern::coll::forest {

class ForestPlan final : public Plan {
 public:
  /// Takes all forests after one was made. Does not throw.
  using Keep = std::function<void(const Forests& all)>;
  /// `known` is certified.
  explicit ForestPlan(Topology topology, const Forests& known = {}, Keep keep = {});

  /// Without memory true: the call then fails, on all ranks.
  [[nodiscard]] bool serves(Collective collective) const noexcept override;
  [[nodiscard]] std::string text() const override;
  [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
  /// The forests of a call, by phase, certified. Throws tern::Error.
  [[nodiscard]] Forests forests(Collective collective, int32_t root) const;

 private:
  struct Made {
    std::optional<Forest> forest;
    std::string fault;
    bool star = false;  // quickly made, so not kept
  };
  [[nodiscard]] const Made& made(Collective collective, int32_t root) const;
  [[nodiscard]] const Forest& forest(Collective collective, int32_t root) const;

  const Topology topology_;
  const Keep keep_;
  mutable std::mutex lock_;
  mutable std::map<std::pair<Collective, int32_t>, Made> made_;
};

}  // namespace tern::coll::forest
