// SPDX-License-Identifier: Apache-2.0
// simulate: patterns, classes, and the number of passes.
#include "coll/laboratory/simulate/simulate.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "coll/laboratory/simulate/run.hpp"
#include "coll/lower/lower.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kMostPassesQueued = 64;
constexpr size_t kMostStepsQueued = 512;
constexpr double kMostPasses = 1e6;

int32_t passes_of(const Pattern& pattern, const Simulation& what) {
  if (what.chunk <= 0 || what.bytes <= 0) return 1;
  for (const Outline& outline : pattern.outlines())
    if (!outline.within_blocks) return 1;
  const Outline& any = pattern.outline(0);
  return static_cast<int32_t>(
      std::clamp(std::ceil(what.bytes / (what.chunk * any.parts)), 1.0, kMostPasses));
}

Simulated quickest(const RunInput& input, const Simulation& what) {
  size_t steps = 1;
  for (const Outline& outline : input.pattern.outlines())
    steps = std::max(steps, outline.steps.size());
  const auto queued = static_cast<int32_t>(kMostStepsQueued / steps);
  const int32_t most = std::min({passes_of(input.pattern, what), kMostPassesQueued, queued});
  Simulated best = run_pattern(input, what, 1);
  for (int32_t passes = 2; passes <= most; passes *= 2) {
    Simulated one = run_pattern(input, what, passes);
    if (one.time < best.time) best = std::move(one);
  }
  return best;
}

}  // namespace

Simulated simulate(const Pattern& pattern, const Topology& topology, const Simulation& what) {
  if (pattern.ranks() > topology.ranks())
    throw Error(MPI_ERR_ARG,
                strf("%d ranks, but the topology has %d GPUs", pattern.ranks(), topology.ranks()));
  Routes routes(topology);
  const Classes classes = what.whole ? Classes::singles(pattern, topology)
                                     : Classes::coarsest(pattern, topology, routes);
  const RunInput input{pattern, classes, topology, routes};
  const bool stream = what.engine == SimulatedEngine::kStream;
  if (stream && what.fit) return quickest(input, what);
  return run_pattern(input, what, passes_of(pattern, what));
}

Simulated simulate(const std::vector<Schedule>& all, const Topology& topology,
                   const Simulation& what) {
  if (static_cast<int32_t>(all.size()) > topology.ranks() || what.engine == SimulatedEngine::kHost)
    return simulate(Pattern::of(all), topology, what);
  Routes routes(topology);
  const auto mapped = [&](int32_t from, int32_t to) { return routes.between(from, to).mapped; };
  return simulate(Pattern::of(lower(all, mapped)), topology, what);
}

double bus_bandwidth(Collective collective, int32_t ranks, double bytes, double time) {
  if (time <= 0) return 0;
  const double p = ranks, rate = bytes / time / 1000;
  switch (collective) {
    case Collective::kBarrier:
      return 0;
    case Collective::kAllreduce:
      return rate * 2 * (p - 1) / p;
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
      return rate * (p - 1);
    default:
      return rate;
  }
}

}  // namespace tern::coll
