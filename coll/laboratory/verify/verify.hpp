// SPDX-License-Identifier: Apache-2.0
// Verifier: executes the schedules of all ranks on symbols. Proves, for every message timing and
// block size: output as in coll/schedule/collective.hpp, in place or not; rank order of operands
// where claimed; no deadlock with synchronous sends; equal sizes of matching sends and receives;
// ordered conflicting accesses; no reads of unwritten data, writes to the input, or uses of absent
// buffers. A row's scratch is bounded, too. Puts and gets: peers touch a rank's memory only between
// surely entered and possibly left, and ordered with other accesses.
#pragma once

#include <vector>

#include "coll/laboratory/verify/proof.hpp"
#include "coll/lower/mapped.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

/// `commutative` ignores operand order.
[[nodiscard]] Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative);

struct Algorithm;
struct Levels;
class Plan;
[[nodiscard]] Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root,
                           const Levels* levels = nullptr, const Plan* plan = nullptr);
/// Of a row with a symmetry: representatives run for all ranks, and `checked` ranks' schedules are
/// compared with renamed ones (images.hpp). The order of operands is not proved.
struct ClassProof {
  Proof proof;
  int32_t ran = 0;  // 0: nothing is proved, for the reason below
  std::string reason{};
  int32_t checked = 0;  // fewer than the ranks: a sample, no proof
};
[[nodiscard]] ClassProof verify_by_classes(const Algorithm& algorithm, int32_t ranks, int32_t root,
                                           const Levels* levels);
/// Steps and blocks of all ranks, at most `most`: an early end for large shapes.
[[nodiscard]] int64_t proof_size(const Algorithm& algorithm, int32_t ranks, int32_t root,
                                 const Levels* levels, int64_t most);
/// verify_lowered() runs lowered schedules (coll/lower) three times in a row. It proves, for every
/// timing: results as above; no deadlock with synchronous sends; slots are read after the wait for
/// the put, and overwritten after all readers of the previous execution; semaphores are signalled
/// after the previous signal was consumed, by the rank named by the wait, and reset at the end.
[[nodiscard]] Proof verify_lowered(const std::vector<Schedule>& lowered, bool in_place,
                                   bool commutative);
[[nodiscard]] Proof verify_lowered(const Algorithm& algorithm, int32_t ranks, int32_t root,
                                   const Levels* levels, const Mapped& mapped,
                                   const Plan* plan = nullptr);
/// `root` is in the first group, or -1.
[[nodiscard]] Proof verify_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                   int32_t root);
[[nodiscard]] std::vector<Schedule> schedules_between(const Algorithm& algorithm, int32_t ranks,
                                                      int32_t others, int32_t root);
[[nodiscard]] Proof verify(const Algorithm& algorithm, const std::vector<Neighbors>& all);

}  // namespace tern::coll
