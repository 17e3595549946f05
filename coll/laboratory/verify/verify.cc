// SPDX-License-Identifier: Apache-2.0
// Verifier: entry points.
#include "coll/laboratory/verify/verify.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/images.hpp"
#include "coll/laboratory/verify/verify_run.hpp"

namespace tern::coll {
namespace {

constexpr int64_t kAllChecked = 250'000'000;  // steps and blocks of all ranks' schedules
constexpr int64_t kSampled = 4'000'000;
constexpr int64_t kLeastChecked = 8;

int64_t steps_and_blocks(const Schedule& schedule) {
  auto sum = static_cast<int64_t>(schedule.steps.size());
  for (int space = 0; space < kSpaces; ++space)
    sum += schedule.blocks_of(static_cast<Space>(space));
  return sum;
}

int64_t size_of(const Schedule& schedule) {
  const auto steps = static_cast<int64_t>(schedule.steps.size());
  // Signals carry sets of ranks.
  const bool sets = schedule.collective == Collective::kBarrier;
  return steps_and_blocks(schedule) + (sets ? steps * (schedule.ranks - 1) : 0);
}

/// Checks two promises of the row: equal blocks, slices within a block.
Proof verify_limits(const Algorithm& algorithm, const std::vector<Schedule>& schedules) {
  for (const Schedule& schedule : schedules)
    if (schedule.uniform && (algorithm.limits & kEqualBlocks) == 0)
      return {strf("%s %s needs equal blocks, but the row lacks kEqualBlocks",
                   name_of(algorithm.collective), algorithm.name),
              0, 0};
  if (algorithm.chunk != 0)
    for (const Schedule& schedule : schedules)
      for (const Slice& slice : schedule.slices)
        if (!schedule.within_block(slice))
          return {strf("%s %s has a chunk, but a slice across blocks: passes cut each block",
                       name_of(algorithm.collective), algorithm.name),
                  0, 0};
  return {};
}

Proof verify_scratch(const std::vector<Schedule>& schedules, bool planned) {
  for (const Schedule& s : schedules) {
    // In blocks, or in parts of a vector; a plan may stage a vector of each rank.
    const int32_t most = splits(s.collective) && !planned ? 2 * std::max(s.ranks, s.parts) + 4
                                                          : (2 * s.ranks + 4) * s.parts;
    if (s.stage_slots > most || s.mirrors > 2)
      return {strf("%s %s: %d stage slots and %d mirrors on %d ranks exceed the scratch limit",
                   name_of(s.collective), s.algorithm, s.stage_slots, s.mirrors, s.ranks),
              0, 0};
  }
  return {};
}

Proof verify_row(const std::vector<Schedule>& schedules, bool in_place, bool commutative,
                 bool planned = false) {
  Proof scratch = verify_scratch(schedules, planned);
  return scratch.holds() ? verify(schedules, in_place, commutative) : scratch;
}

}  // namespace

int64_t proof_size(const Algorithm& algorithm, int32_t ranks, int32_t root, const Levels* levels,
                   int64_t most) {
  int64_t sum = 0;
  for (int32_t rank = 0; rank < ranks && sum < most; ++rank)
    sum += size_of(build(algorithm, ranks, rank, root, levels));
  return std::min(sum, most);
}

ClassProof verify_by_classes(const Algorithm& algorithm, int32_t ranks, int32_t root,
                             const Levels* levels) {
  ClassProof made;
  made.reason = "without a symmetry of ranks";
  if ((algorithm.traits & kSymmetries) == 0 || rooted(algorithm.collective)) return made;
  Images images(algorithm, ranks, root, levels);
  if (!images.any()) return made;
  const std::vector<Schedule>& schedules = images.representatives();
  try {
    const int64_t size = steps_and_blocks(schedules[0]);
    const int64_t sampled = std::min<int64_t>(ranks, std::max(kLeastChecked, kSampled / size));
    const int64_t compared = size * ranks <= kAllChecked ? ranks : sampled;
    for (int64_t i = 0; i < compared; ++i)
      made.checked += images.check(static_cast<int32_t>(i * ranks / compared)) ? 1 : 0;
    made.proof = verify_limits(algorithm, schedules);
    if (made.proof.holds()) made.proof = verify_scratch(schedules, false);
    for (const bool in_place : {false, true})
      if (made.proof.holds()) made.proof = SymbolicRun(schedules, in_place, true, &images).run();
    made.ran = static_cast<int32_t>(schedules.size());
  } catch (const Error& error) {
    made.reason = strf("its ranks are not alike: %s", error.what());
  }
  return made;
}

Proof verify(const std::vector<Schedule>& schedules, bool in_place, bool commutative) {
  return SymbolicRun(schedules, in_place, commutative).run();
}

Proof verify(const Algorithm& algorithm, int32_t ranks, int32_t root, const Levels* levels,
             const Plan* plan) {
  std::vector<Schedule> schedules;
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(build(algorithm, ranks, rank, root, levels, plan));
  const bool commutative = (algorithm.limits & kCommutative) != 0;
  Proof proof = verify_limits(algorithm, schedules);
  if (proof.holds()) proof = verify_row(schedules, false, commutative, plan != nullptr);
  return proof.holds() ? verify_row(schedules, true, commutative, plan != nullptr) : proof;
}

std::vector<Schedule> schedules_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                                        int32_t root) {
  std::vector<Schedule> schedules;
  const bool has_root = rooted(algorithm.collective);
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(build_between(algorithm, ranks, others, rank,
                                      !has_root      ? 0
                                      : rank == root ? rank
                                                     : -1));
  for (int32_t rank = 0; rank < others; ++rank)
    schedules.push_back(
        build_between(algorithm, others, ranks, rank, has_root ? others + root : 0));
  return schedules;
}

Proof verify_between(const Algorithm& algorithm, int32_t ranks, int32_t others, int32_t root) {
  return verify_row(schedules_between(algorithm, ranks, others, root), false, false);
}

Proof verify(const Algorithm& algorithm, const std::vector<Neighbors>& all) {
  std::vector<Schedule> schedules;
  const auto ranks = static_cast<int32_t>(all.size());
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(
        build(algorithm, ranks, rank, std::make_shared<Neighbors>(all[static_cast<size_t>(rank)])));
  return verify_row(schedules, false, false);
}

}  // namespace tern::coll
