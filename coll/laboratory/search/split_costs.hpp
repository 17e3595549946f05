// SPDX-License-Identifier: Apache-2.0
// SimulatedCosts: times of a split's groups on a model of a machine: per row a line through two
// simulated sizes, and the quickest row of each size. Rank (stage * data + replica) * tensor + part
// is on this GPU.
// Lifetime: below the machine's. Cost: two simulations per row and shape of groups, once.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "coll/laboratory/search/model_split.hpp"
#include "coll/laboratory/simulate/group_times.hpp"

namespace tern::coll {

class SimulatedCosts {
 public:
  explicit SimulatedCosts(const Topology& machine);
  /// The functions need this object.
  [[nodiscard]] SplitCosts costs();

 private:
  enum class Use : uint8_t { kTensor, kGradient, kMessage };
  struct Line {
    double start, per_byte;  // us
  };

  [[nodiscard]] double time(Use use, int32_t tensor, int32_t data, double bytes);
  [[nodiscard]] std::vector<Line> lines(Collective collective, const Groups& groups);
  [[nodiscard]] Groups groups_of(Use use, int32_t tensor, int32_t data) const;

  const int32_t gpus_;
  PlacedMachine machine_;
  std::vector<int32_t> places_;
  std::map<std::tuple<Use, int32_t, int32_t>, std::vector<Line>> lines_;
};

}  // namespace tern::coll
