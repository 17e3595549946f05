// SPDX-License-Identifier: Apache-2.0
// Workload: a program's collectives in order, printed by tern_trace --workload or tern_coll
// import. A line has a collective, bytes (of the vector or of one block), ranks,
// communicator, root (- without) and microseconds of computation before; # starts a comment.
// Groups of a communicator call at once, and precede the calls, in one of three forms:
//   group C 0,4,8..11       one more group of communicator C
//   group C stride N of P   the N sets of ranks below P equal modulo N
//   group C block N of P    runs of N consecutive ranks
// A communicator without groups has the first ranks. The root is a rank of each group.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// Ranks of disjoint groups.
using Groups = std::vector<std::vector<int32_t>>;

struct WorkloadCall {
  Collective collective;
  double bytes;
  int32_t ranks;  // of a group
  int32_t root;   // 0 without
  double gap;     // us of computation before
  int64_t communicator = 0;
};

struct Workload {
  std::vector<WorkloadCall> calls;
  std::map<int64_t, Groups> groups;

  [[nodiscard]] Groups groups_of(const WorkloadCall& call) const;
  /// 1 + the largest rank.
  [[nodiscard]] int32_t ranks() const;
};

/// Throws tern::Error with `name`, line and fault.
[[nodiscard]] Workload parse_workload(const std::string& text, const std::string& name);
[[nodiscard]] Workload load_workload(const std::string& name);
/// The text of a workload; parse_workload() returns the same workload.
[[nodiscard]] std::string workload_text(const Workload& workload);

}  // namespace tern::coll
