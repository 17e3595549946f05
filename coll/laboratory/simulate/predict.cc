// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/simulate/predict.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/error.hpp"
#include "coll/laboratory/simulate/group_times.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

PredictedCall quickest_row(const WorkloadCall& call, const Groups& groups, PlacedMachine& machine,
                           const std::vector<int32_t>& places) {
  PredictedCall made{.call = call};
  if (neighborly(call.collective)) return made;
  for (const Algorithm& row : algorithms(call.collective)) {
    if (!competes(row, call.ranks)) continue;
    const double time = GroupTimes(row, call, groups, machine, kMostWorkloadPasses).time(places);
    if (std::isinf(time) || (made.row != nullptr && time >= made.time)) continue;
    made.row = &row;
    made.time = time;
  }
  return made;
}

}  // namespace

bool competes(const Algorithm& row, int32_t ranks) {
  if (!has_schedule(row) || (row.limits & kPlan) != 0) return false;
  const bool power = std::has_single_bit(static_cast<uint32_t>(ranks));
  const unsigned symmetries = power ? kSymmetries : kSymmetries & ~kRotatesPowers;
  return ranks <= kMostWithAllRows || (row.traits & symmetries) != 0;
}

PredictedWorkload predict(const Workload& workload, const Topology& topology,
                          const std::vector<int32_t>& places) {
  const int32_t ranks = workload.ranks();
  if (ranks > topology.ranks())
    throw Error(MPI_ERR_ARG, strf("the workload has %d ranks, but the machine has %d GPUs", ranks,
                                  topology.ranks()));
  std::vector<int32_t> given = places;
  if (given.empty()) {
    given.resize(static_cast<size_t>(ranks));
    std::iota(given.begin(), given.end(), 0);
  }
  PlacedMachine machine(topology);
  // Communicators without groups are alike.
  std::map<std::tuple<Collective, double, int32_t, int32_t, int64_t>, PredictedCall> different;
  PredictedWorkload made;
  for (const WorkloadCall& call : workload.calls) {
    const bool grouped = workload.groups.count(call.communicator) != 0;
    const auto [at, is_new] = different.try_emplace(
        {call.collective, call.bytes, call.ranks, call.root, grouped ? call.communicator : -1});
    if (is_new) at->second = quickest_row(call, workload.groups_of(call), machine, given);
    PredictedCall& one = at->second;
    ++one.count;
    made.computation += call.gap;
    made.communication += one.time;
    if (one.row == nullptr) ++made.left_out;
  }
  for (const auto& [key, one] : different) made.calls.push_back(one);
  const auto all = [](const PredictedCall& one) {
    return one.time * static_cast<double>(one.count);
  };
  std::stable_sort(made.calls.begin(), made.calls.end(),
                   [&](const auto& a, const auto& b) { return all(a) > all(b); });
  return made;
}

}  // namespace tern::coll
