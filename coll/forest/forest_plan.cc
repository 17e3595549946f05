// SPDX-License-Identifier: Apache-2.0
// ForestPlan: forests at first use.
#include "coll/forest/forest_plan.hpp"

#include "base/error.hpp"
#include "coll/forest/plan.hpp"
#include "mpi.h"

namespace tern::coll::forest {

namespace {

constexpr int32_t kMostRootedGpus = 64;

/// Collectives of a call's phases.
std::vector<Collective> phases_of(Collective collective) {
  switch (collective) {
    case Collective::kAllreduce:
      return {Collective::kReduceScatter, Collective::kAllgather};
    case Collective::kBcast:
    case Collective::kReduce:
    case Collective::kAllgather:
    case Collective::kReduceScatter:
      return {collective};
    default:
      return {};
  }
}

}  // namespace

ForestPlan::ForestPlan(Topology topology, const Forests& known, Keep keep)
    : Plan("forest", topology.ranks()), topology_(std::move(topology)), keep_(std::move(keep)) {
  for (const Forest& one : known) made_[{one.collective, one.root}].forest = one;
}

bool ForestPlan::serves(Collective collective) const noexcept {
  if (rooted(collective) && ranks() > kMostRootedGpus) return false;  // minutes of packing
  try {
    const std::vector<Collective> phases = phases_of(collective);
    const std::scoped_lock held(lock_);
    for (const Collective phase : phases)
      if (!made(phase, 0).forest) return false;
    return !phases.empty();
  } catch (...) {
    return true;
  }
}

std::string ForestPlan::text() const { return strf("forest of %d GPUs", ranks()); }

const ForestPlan::Made& ForestPlan::made(Collective collective, int32_t root) const {
  if (!rooted(collective)) root = 0;
  const std::pair key{collective, root};
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  Made one;
  try {
    one.forest = make_forest(topology_, collective, root);
  } catch (const Error& error) {
    one.fault = error.what();
    one.star = rooted(collective);
  }
  // Trees may exist for some roots only, and all ranks choose a row before they know the root.
  if (one.star) one.forest = make_star(topology_, collective, root);
  const Made& now = made_.emplace(key, std::move(one)).first->second;
  if (!keep_ || !now.forest || now.star) return now;
  Forests all;
  for (const auto& [call, other] : made_)
    if (other.forest && !other.star) all.push_back(*other.forest);
  keep_(all);
  return now;
}

const Forest& ForestPlan::forest(Collective collective, int32_t root) const {
  const Made& one = made(collective, root);
  if (!one.forest) throw Error(MPI_ERR_ARG, one.fault);
  return *one.forest;
}

Forests ForestPlan::forests(Collective collective, int32_t root) const {
  const std::scoped_lock held(lock_);
  Forests found;
  for (const Collective phase : phases_of(collective)) found.push_back(forest(phase, root));
  return found;
}

}  // namespace tern::coll::forest
