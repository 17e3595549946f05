// SPDX-License-Identifier: Apache-2.0
// Network: rates by progressive filling. A resource with capacity for all flows at their bounds
// never fills, hence passes no change on.
#include "coll/laboratory/simulate/network.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tern::coll {
namespace {

/// Rates differ by rounding alone.
constexpr double kSameRate = 1e-12;

}  // namespace

int32_t Network::add(double capacity) {
  resources_.push_back({.capacity = capacity});
  return static_cast<int32_t>(resources_.size()) - 1;
}

void Network::start(double bytes, std::span<const LinkUse> uses, size_t tag) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  Flow& flow = flows_[number];
  flow.tag = tag;
  flow.bytes = flow.left = bytes;
  flow.since = now_;
  flow.rate = 0;
  flow.active = true;
  flow.bound = std::numeric_limits<double>::infinity();
  flow.uses.clear();
  for (const LinkUse& use : uses)
    flow.bound = std::min(flow.bound, resource(use.resource).capacity / use.weight);
  for (const LinkUse& use : uses) {
    Resource& one = resource(use.resource);
    const auto index = static_cast<uint32_t>(flow.uses.size());
    flow.uses.push_back({use.resource, static_cast<uint32_t>(one.flows.size()), use.weight});
    one.flows.push_back({number, index});
    one.demand += flow.bound * use.weight;
  }
  touched_.push_back(number);
  ++active_;
}

// The other flows of full resources may grow.
void Network::stop(uint32_t number) {
  Flow& flow = flows_[number];
  for (const Use& use : flow.uses) {
    Resource& one = resource(use.resource);
    const bool shared = one.may_fill();
    const Place last = one.flows.back();
    one.flows.pop_back();
    if (use.place < one.flows.size()) {
      one.flows[use.place] = last;
      flows_[last.flow].uses[last.use].place = use.place;
    }
    one.carried += flow.bytes * use.weight;
    one.demand = one.flows.empty() ? 0 : one.demand - flow.bound * use.weight;
    if (!shared) continue;
    for (const Place& place : one.flows) touched_.push_back(place.flow);
  }
  flow.active = false;
  ++flow.version;
  free_.push_back(number);
  ended_.push_back(flow.tag);
  --active_;
}

void Network::reach(uint32_t number) {
  Flow& flow = flows_[number];
  if (!flow.active || flow.seen == round_) return;
  flow.seen = round_;
  flow.found = -1;
  component_.push_back(number);
}

void Network::gather() {
  ++round_;
  component_.clear();
  filling_.clear();
  for (const uint32_t flow : touched_) reach(flow);
  touched_.clear();
  for (size_t i = 0; i < component_.size(); ++i)
    for (const Use& use : flows_[component_[i]].uses) {
      Resource& one = resource(use.resource);
      if (one.seen == round_ || !one.may_fill()) continue;
      one.seen = round_;
      one.left = one.capacity;
      one.load = 0;
      filling_.push_back(use.resource);
      for (const Place& place : one.flows) {
        one.load += flows_[place.flow].uses[place.use].weight;
        reach(place.flow);
      }
    }
}

void Network::push_level(double rate, int32_t resource, uint32_t flow) {
  levels_.push_back({rate, resource, flow});
  std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
}

void Network::settle(uint32_t number, double rate) {
  Flow& flow = flows_[number];
  flow.found = rate;
  for (const Use& use : flow.uses) {
    Resource& one = resource(use.resource);
    one.left -= rate * use.weight;
    one.load -= use.weight;
  }
}

// A resource's level only rises while flows settle: an outdated entry returns to the heap.
void Network::fill() {
  levels_.clear();
  for (const int32_t number : filling_)
    levels_.push_back({resource(number).left / resource(number).load, number, 0});
  for (const uint32_t number : component_) levels_.push_back({flows_[number].bound, -1, number});
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  double rate = 0;
  for (size_t open = component_.size(); open > 0;) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.resource < 0 && flows_[level.flow].found >= 0) continue;
    double value = level.rate;
    if (level.resource >= 0) {
      const Resource& one = resource(level.resource);
      if (one.load <= kSameRate) continue;
      value = one.left / one.load;
      if (value > level.rate * (1 + kSameRate)) {
        push_level(value, level.resource, 0);
        continue;
      }
    }
    if (value > rate * (1 + kSameRate)) rate = value;
    if (level.resource < 0) {
      settle(level.flow, rate);
      --open;
      continue;
    }
    for (const Place& place : resource(level.resource).flows) {
      if (flows_[place.flow].found >= 0) continue;
      settle(place.flow, rate);
      --open;
    }
  }
}

void Network::set_rate(uint32_t number) {
  Flow& flow = flows_[number];
  if (std::abs(flow.found - flow.rate) <= kSameRate * flow.rate) return;
  flow.left -= flow.rate * (now_ - flow.since);
  flow.since = now_;
  flow.rate = flow.found;
  ++flow.version;
  ends_.push_back({now_ + std::max(flow.left, 0.0) / flow.rate, number, flow.version});
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>());
}

void Network::find_rates() {
  if (touched_.empty()) return;
  gather();
  if (component_.empty()) return;
  fill();
  for (const uint32_t flow : component_) set_rate(flow);
}

double Network::next_end() {
  find_rates();
  while (!ends_.empty() && ends_.front().version != flows_[ends_.front().flow].version) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
  }
  return ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.front().time;
}

const std::vector<size_t>& Network::advance(double time) {
  find_rates();
  ended_.clear();
  now_ = time;
  const double until = time + tolerance(time);
  while (!ends_.empty() && ends_.front().time <= until) {
    const End end = ends_.front();
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>());
    ends_.pop_back();
    if (end.version == flows_[end.flow].version) stop(end.flow);
  }
  return ended_;
}

}  // namespace tern::coll
