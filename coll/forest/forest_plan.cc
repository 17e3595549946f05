// SPDX-License-Identifier: Apache-2.0
// ForestPlan: forests at first use.
#include "coll/forest/forest_plan.hpp"

#include "base/error.hpp"
#include "coll/forest/plan.hpp"

namespace tern::coll::forest {

namespace {
constexpr int32_t kMostRootedGpus = 64;
}  // namespace

ForestPlan::ForestPlan(Topology topology)
    : Plan("forest", topology.ranks()), topology_(std::move(topology)) {}

bool ForestPlan::serves(Collective collective) const noexcept {
  if (collective != Collective::kBcast && collective != Collective::kReduce &&
      collective != Collective::kAllgather && collective != Collective::kReduceScatter &&
      collective != Collective::kAllreduce)
    return false;
  if (rooted(collective) && ranks() > kMostRootedGpus) return false;  // minutes of packing
  try {
    (void)forests(collective, 0);
    return true;
  } catch (...) {  // no forest on this graph, or no memory
    return false;
  }
}

std::string ForestPlan::text() const { return strf("forest of %d GPUs", ranks()); }

const Forest& ForestPlan::forest(Collective collective, int32_t root) const {
  if (!rooted(collective)) root = 0;
  const std::pair key{collective, root};
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  return made_.emplace(key, make_forest(topology_, collective, root)).first->second;
}

Forests ForestPlan::forests(Collective collective, int32_t root) const {
  const std::scoped_lock held(lock_);
  if (collective != Collective::kAllreduce) return {forest(collective, root)};
  return {forest(Collective::kReduceScatter, 0), forest(Collective::kAllgather, 0)};
}

}  // namespace tern::coll::forest
