// SPDX-License-Identifier: Apache-2.0
// Verifier: executes the schedules of all ranks on symbols and proves what they do.
// Proved, for every timing of messages and every block size: each rank ends with what
// coll/schedule/collective.hpp promises, in place and not; operands keep rank order where the
// algorithm claims it; no deadlock even if every send waits for its receive; matching sends and
// receives have the same size; no two steps of a rank touch the same slice unordered when one
// writes; no rank reads what was not written, writes its input, or uses a buffer it lacks; scratch
// is bounded. A value is the list of contributions it holds, so passes and chunks (which share
// nothing) need no proof of their own. Puts and gets: no rank touches a peer's memory before the
// peer has surely entered or after it may have left, nor unordered with another access. See:
// tests/unit/coll/verify_test.cc.
#pragma once

#include <string>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Proof {
  std::string fault;     // empty: proved. Else the first fault, with rank, lane and step
  int64_t messages = 0;  // sends, signals, puts and gets of all ranks
  int32_t steps = 0;     // the most that one rank has
  [[nodiscard]] bool holds() const noexcept { return fault.empty(); }
};

/// `schedules[r]` is rank r's. `in_place`: as under MPI_IN_PLACE. `commutative`: operands may
/// change places.
[[nodiscard]] Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative);

struct Algorithm;
struct Levels;
/// Builds all ranks' schedules and proves them in place and not.
[[nodiscard]] Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root,
                           const Levels* levels = nullptr);
/// The same between two groups, of `ranks` and `others`. `root` is a rank of the first; -1 where
/// the collective has none.
[[nodiscard]] Proof verify_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                   int32_t root);
/// The schedules of both, the first group's first.
[[nodiscard]] std::vector<Schedule> schedules_between(const Algorithm& algorithm, int32_t ranks,
                                                      int32_t others, int32_t root);
/// The same for a neighbourhood: all[r] are rank r's neighbours.
[[nodiscard]] Proof verify(const Algorithm& algorithm, const std::vector<Neighbors>& all);

}  // namespace tern::coll
