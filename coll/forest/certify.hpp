// SPDX-License-Identifier: Apache-2.0
// Forest: packed trees of a collective on a machine, with the claim that no schedule is faster than
// a stated share; certify() proves the claim from the topology alone, by none of the maker's code.
//
// A tree of weight m carries m / k of its root's data (all GPUs have equal data, or a single root
// has all). The forest takes the time `time` x k trees, in trees per kB/s: each link carries trees
// of at most time x bandwidth. The cut shows that no schedule takes less than `bound` units per
// kB/s: the units inside leave over the cut's links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/schedule/collective.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll::forest {

struct Fraction {
  int64_t over = 0, under = 1;
  bool operator==(const Fraction&) const = default;
  [[nodiscard]] double value() const noexcept {
    return static_cast<double>(over) / static_cast<double>(under);
  }
};

struct Tree {
  int32_t root = 0;
  int32_t weight = 1;
  std::vector<int32_t> parents;  // by rank; -1: the root
  bool operator==(const Tree&) const = default;
};

/// A reduction's trees lead to the root: a rank sends to its parent.
struct Forest {
  Collective collective = Collective::kAllgather;
  int32_t root = 0;  // of rooted collectives
  int32_t gpus = 0;
  int32_t k = 1;  // sum of the weights of a root's trees
  Fraction time;
  Fraction bound;
  std::vector<std::string> cut;  // names of nodes inside, ascending
  std::vector<Tree> trees;       // by root
  bool operator==(const Forest&) const = default;
  [[nodiscard]] double share() const noexcept { return bound.value() * k / time.value(); }
};

/// Returns the first fault, or an empty string: all claims hold.
[[nodiscard]] std::string certify(const Forest& forest, const Topology& topology);

}  // namespace tern::coll::forest
