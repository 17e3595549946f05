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

#include <vector>

#include "coll/laboratory/verify/proof.hpp"
#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// `schedules[r]` is rank r's. `in_place`: as under MPI_IN_PLACE. `commutative`: operands may
/// change places.
[[nodiscard]] Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative);

struct Algorithm;
struct Levels;
/// Builds all ranks' schedules and proves them in place and not.
[[nodiscard]] Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root,
                           const Levels* levels = nullptr);
/// Lowered schedules (coll/lower), `lowered[r]` rank r's. Each rank runs its steps one after the
/// other; three executions follow each other on the same inbox and words. Proved, for every timing:
/// results as above, in each execution; no deadlock even if every send waits for its receive; a
/// slot is read only after the wait for what was put into it, and put into only when its readers of
/// the execution before are done; a word is signalled only when the signal before was consumed, by
/// the rank that the wait names; in the end all words are as at first.
[[nodiscard]] Proof verify_lowered(const std::vector<Schedule>& lowered, bool in_place,
                                   bool commutative);
/// Builds all ranks' schedules, lowers them, and proves them in place and not.
[[nodiscard]] Proof verify_lowered(const Algorithm& algorithm, int32_t ranks, int32_t root,
                                   const Levels* levels, const Mapped& mapped);
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
