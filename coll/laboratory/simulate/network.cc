// SPDX-License-Identifier: Apache-2.0
// Network: rates by progressive filling.
#include "coll/laboratory/simulate/network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tern::coll {
namespace {

/// kNothing covers the rest that rounding leaves of a finished flow.
constexpr double kNothing = 1e-6;

}  // namespace

int Network::add(double capacity) {
  resources_.push_back({.capacity = capacity});
  return static_cast<int>(resources_.size()) - 1;
}

size_t Network::start(double bytes, std::vector<LinkUse> uses) {
  flows_.push_back({next_, bytes, 0, std::move(uses)});
  changed_ = true;
  return next_++;
}

void Network::find_rates() {
  if (!std::exchange(changed_, false)) return;
  for (Resource& one : resources_) {
    one.left = one.capacity;
    one.load = 0;
  }
  std::vector<Flow*> growing;
  for (Flow& flow : flows_) {
    for (const LinkUse& use : flow.uses)
      resources_[static_cast<size_t>(use.resource)].load += use.weight;
    growing.push_back(&flow);
  }
  while (!growing.empty()) {
    double rate = std::numeric_limits<double>::infinity();
    for (const Flow* flow : growing)
      for (const LinkUse& use : flow->uses) {
        const Resource& one = resources_[static_cast<size_t>(use.resource)];
        rate = std::min(rate, one.left / one.load);
      }
    const auto full = [&](const Flow* flow) {
      return std::any_of(flow->uses.begin(), flow->uses.end(), [&](const LinkUse& use) {
        const Resource& one = resources_[static_cast<size_t>(use.resource)];
        return one.left / one.load <= rate * (1 + 1e-12);
      });
    };
    const auto rest = std::stable_partition(growing.begin(), growing.end(), full);
    const std::vector<Flow*> settled(growing.begin(), rest);
    growing.erase(growing.begin(), rest);
    for (Flow* flow : settled) {
      flow->rate = rate;
      for (const LinkUse& use : flow->uses) {
        Resource& one = resources_[static_cast<size_t>(use.resource)];
        one.left -= rate * use.weight;
        one.load -= use.weight;
      }
    }
  }
}

double Network::until_next() {
  find_rates();
  double time = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flows_) time = std::min(time, flow.bytes / flow.rate);
  return time;
}

std::vector<size_t> Network::advance(double time) {
  find_rates();
  std::vector<size_t> ended;
  for (Flow& flow : flows_) {
    const double moved = std::min(flow.bytes, flow.rate * time);
    flow.bytes -= moved;
    for (const LinkUse& use : flow.uses)
      resources_[static_cast<size_t>(use.resource)].carried += moved * use.weight;
    if (flow.bytes <= kNothing) ended.push_back(flow.number);
  }
  std::erase_if(flows_, [](const Flow& flow) { return flow.bytes <= kNothing; });
  changed_ |= !ended.empty();
  return ended;
}

}  // namespace tern::coll
