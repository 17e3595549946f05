// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/search/split_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "coll/laboratory/simulate/predict.hpp"

namespace tern::coll {
namespace {

constexpr double kFewBytes = 1 << 13, kManyBytes = 1 << 26;  // bytes
constexpr int32_t kPassesOfALine = 6;

}  // namespace

SimulatedCosts::SimulatedCosts(const Topology& machine)
    : gpus_(machine.ranks()), machine_(machine), places_(static_cast<size_t>(gpus_)) {
  std::iota(places_.begin(), places_.end(), 0);
}

SplitCosts SimulatedCosts::costs() {
  return {
      .tensor_sum = [this](int32_t tensor,
                           double bytes) { return time(Use::kTensor, tensor, 1, bytes); },
      .gradient_sum = [this](int32_t tensor, int32_t data,
                             double bytes) { return time(Use::kGradient, tensor, data, bytes); },
      .to_next_stage = [this](int32_t tensor, int32_t data,
                              double bytes) { return time(Use::kMessage, tensor, data, bytes); }};
}

// Messages: from each stage of even number to the next.
Groups SimulatedCosts::groups_of(Use use, int32_t tensor, int32_t data) const {
  Groups groups;
  const int32_t stage = use == Use::kTensor ? tensor : tensor * data;
  for (int32_t first = 0; first + stage <= gpus_; first += stage) {
    if (use == Use::kTensor) {
      groups.emplace_back();
      for (int32_t i = 0; i < tensor; ++i) groups.back().push_back(first + i);
      continue;
    }
    if (use == Use::kMessage && (first / stage % 2 != 0 || first + 2 * stage > gpus_)) continue;
    for (int32_t part = 0; use == Use::kGradient && part < tensor; ++part) {
      groups.emplace_back();
      for (int32_t i = 0; i < data; ++i) groups.back().push_back(first + i * tensor + part);
    }
    for (int32_t i = 0; use == Use::kMessage && i < stage; ++i)
      groups.push_back({first + i, first + stage + i});
  }
  return groups;
}

std::vector<SimulatedCosts::Line> SimulatedCosts::lines(Collective collective,
                                                        const Groups& groups) {
  std::vector<Line> made;
  WorkloadCall call{.collective = collective,
                    .bytes = 0,
                    .ranks = static_cast<int32_t>(groups[0].size()),
                    .root = 0,
                    .gap = 0};
  for (const Algorithm& row : algorithms(collective)) {
    if (!competes(row, call.ranks)) continue;
    double times[2];
    for (const int large : {0, 1}) {
      call.bytes = large != 0 ? kManyBytes : kFewBytes;
      times[large] = GroupTimes(row, call, groups, machine_, kPassesOfALine).time(places_);
    }
    if (std::isinf(times[0])) continue;
    const double per_byte = std::max(0.0, (times[1] - times[0]) / (kManyBytes - kFewBytes));
    made.push_back({std::max(0.0, times[0] - per_byte * kFewBytes), per_byte});
  }
  return made;
}

double SimulatedCosts::time(Use use, int32_t tensor, int32_t data, double bytes) {
  const auto [at, is_new] = lines_.try_emplace({use, tensor, data});
  if (is_new)
    at->second = lines(use == Use::kMessage ? Collective::kBcast : Collective::kAllreduce,
                       groups_of(use, tensor, data));
  double least = std::numeric_limits<double>::infinity();
  for (const Line& line : at->second) least = std::min(least, line.start + line.per_byte * bytes);
  return least;
}

std::vector<ModelSplit> split_model(const TrainedModel& model, const Topology& machine,
                                    size_t most) {
  SimulatedCosts simulated(machine);
  return split_model(model, machine.ranks(), simulated.costs(), most);
}

}  // namespace tern::coll
