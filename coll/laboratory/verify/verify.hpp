// SPDX-License-Identifier: Apache-2.0
// Verifier: executes the schedules of all ranks on symbols. Proves, for every message timing and
// block size: each rank ends with the output defined by coll/schedule/collective.hpp, in place or
// not; operands keep rank order where claimed; no deadlock with synchronous sends; matching sends
// and receives have equal sizes; conflicting accesses of a rank to a slice are ordered; no rank
// reads unwritten data, writes its input, or uses a buffer absent on the rank; scratch is bounded.
// Values are lists of contributions, so passes and chunks need no separate proof. Puts and gets: no
// rank touches a peer's memory before the peer has entered or after it may have left, nor unordered
// with another access. See: tests/unit/coll/verify_test.cc.
#pragma once

#include <vector>

#include "coll/laboratory/verify/proof.hpp"
#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// `schedules[r]` is rank r's. `in_place`: under MPI_IN_PLACE. `commutative`: ignores operand
/// order.
[[nodiscard]] Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative);

struct Algorithm;
struct Levels;
/// Builds all ranks' schedules and proves both forms, in place or not.
[[nodiscard]] Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root,
                           const Levels* levels = nullptr);
/// Lowered schedules (coll/lower), `lowered[r]` rank r's, for three executions in a row on one
/// inbox. Proves, for every timing: results as above; no deadlock with synchronous sends; a slot is
/// read only after the wait for its put, and overwritten only after its readers of the previous
/// execution; a semaphore is signalled only after the previous signal was consumed, and by the rank
/// named by the wait; at the end all semaphores have their initial values.
[[nodiscard]] Proof verify_lowered(const std::vector<Schedule>& lowered, bool in_place,
                                   bool commutative);
/// Builds all ranks' schedules, lowers them, and proves both forms.
[[nodiscard]] Proof verify_lowered(const Algorithm& algorithm, int32_t ranks, int32_t root,
                                   const Levels* levels, const Mapped& mapped);
/// For inter-communicators with groups of `ranks` and `others`. `root`: in the first group; -1:
/// none.
[[nodiscard]] Proof verify_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                   int32_t root);
/// Schedules of both groups, first group first.
[[nodiscard]] std::vector<Schedule> schedules_between(const Algorithm& algorithm, int32_t ranks,
                                                      int32_t others, int32_t root);
/// For a neighbourhood: all[r] are rank r's neighbours.
[[nodiscard]] Proof verify(const Algorithm& algorithm, const std::vector<Neighbors>& all);

}  // namespace tern::coll
