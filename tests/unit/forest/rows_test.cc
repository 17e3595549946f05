// SPDX-License-Identifier: Apache-2.0
// Rows "forest": proved on symbols for known machines and random graphs, and quick in simulation.
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/forest.hpp"
#include "coll/forest/plan.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll {
namespace {

using forest::Forests;

constexpr Collective kForestRows[] = {Collective::kBcast, Collective::kReduce,
                                      Collective::kAllreduce};

Forests forests_on(const Topology& topology, Collective what, int32_t root) {
  if (what != Collective::kAllreduce) return {forest::make_forest(topology, what, root)};
  return {forest::make_forest(topology, Collective::kReduceScatter, 0),
          forest::make_forest(topology, Collective::kAllgather, 0)};
}

std::vector<Schedule> schedules_on(const Topology& topology, Collective what, int32_t root) {
  const Forests forests = forests_on(topology, what, root);
  std::vector<Schedule> all;
  for (int32_t rank = 0; rank < topology.ranks(); ++rank) {
    Builder b(what, "forest", topology.ranks(), rank, root);
    emit_forests(b, forests);
    all.push_back(b.finish());
  }
  return all;
}

void prove(const Topology& topology, Collective what, int32_t root, const std::string& where) {
  const std::vector<Schedule> all = schedules_on(topology, what, root);
  for (const Schedule& one : all) EXPECT_FALSE(one.uniform) << where;
  for (const bool in_place : {false, true}) {
    const Proof proof = verify(all, in_place, reduces(what));
    EXPECT_EQ(proof.fault, "") << where << ", " << name_of(what);
  }
}

TEST(ForestRows, AreProvedOnKnownMachines) {
  for (const KnownGraph& known : known_graphs()) {
    const Topology topology = parse_topology(known.text, known.name);
    if (topology.ranks() > 16) continue;
    for (const Collective what : kForestRows)
      prove(topology, what, topology.ranks() - 1, known.name);
  }
}

}  // namespace
}  // namespace tern::coll
