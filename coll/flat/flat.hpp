// SPDX-License-Identifier: Apache-2.0
// Flat: collectives of ranks on one host without messages: everybody writes its part into its slot,
// and reads what it needs from the others'.
// Why: one phase. With more ranks than cores every round of messages costs a switch between ranks;
// this costs one for the whole collective. Longer data go through the slots in pieces.
// Results: reductions take the operands in the order of ranks, so every rank gets the same bits.
// Lifetime: CommState; its slots outlast it (Coll keeps them until no rank reads them).
// Threads: under the channel's lock. See: coll/flat/README.md.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/where.hpp"
#include "coll/schedule/flat_method.hpp"
#include "coll/select/question.hpp"

namespace tern::coll {

/// Bytes of the flat data from which ranks agree first whether it lies on devices.
inline constexpr size_t kLeastOnDevice = 65536;
/// Whether a reduction can take its operands from slots: elements without holes, not too large.
[[nodiscard]] bool flat_takes(const Operation& operation) noexcept;
/// Bytes that one rank writes for the others, were it all in one epoch: equal on all ranks.
[[nodiscard]] size_t flat_bytes(const Question& question) noexcept;
/// Bytes in a slot: scatter and alltoall leave out the own block.
[[nodiscard]] inline size_t slot_bytes(const Question& question) noexcept {
  const size_t all = flat_bytes(question);
  const Collective what = question.collective;
  return what == Collective::kScatter || what == Collective::kAlltoall ? all - question.bytes : all;
}
/// Bytes for which a blocking call takes its slab and lane. Devices serve a call whose row is a
/// schedule in the large slab, too; the small lane has too few slots for two levels.
[[nodiscard]] inline size_t room_for(FlatMethod method, const Question& question,
                                     bool has_large) noexcept {
  const size_t bytes = slot_bytes(question);
  const bool largest = method == FlatMethod::kNone || method == FlatMethod::kDirect ||
                       (method == FlatMethod::kTwoLevel && bytes > kLineLane.room() && has_large);
  return largest ? kLargeLane.room() : bytes;
}
[[nodiscard]] inline Slab::Size slab_size_of(size_t room) noexcept {
  return room <= kSmallLane.room() ? Slab::Size::kSmall : Slab::Size::kLarge;
}
/// Whether a slot holds the least part: of a reduce-scatter an element of each block.
[[nodiscard]] inline bool fits_in_slot(const Operation& operation, const Question& question,
                                       const Lane& lane) noexcept {
  return operation.collective != Collective::kReduceScatter ||
         static_cast<size_t>(operation.input.type->size() * question.ranks) <= lane.room();
}
/// Runs it; all ranks come to the same `method`. MPI_ERR_TRUNCATE, with fail() text, where another
/// rank's part is not as long as this one's arguments say.
/// Throws std::bad_alloc.
[[nodiscard]] int flat_run(const Operation& operation, FlatMethod method, Slots& slots);

/// Whether every rank reads what every other one has posted.
[[nodiscard]] bool all_read_all(Collective what) noexcept;
/// An operation in which all read from all, by FlatMethod::kWhole, *code its result, unless some
/// rank (`mine`: this one) keeps its data on a device instead of writing its part: then nothing is
/// done, which all ranks learn alike. kHost: it is done; kAll: every rank keeps as many bytes.
/// Throws std::bad_alloc.
[[nodiscard]] Where flat_run_here(const Operation& operation, Slots& slots, bool mine, int* code);
/// An epoch for that alone. kHost: no rank's data lies on a device (`on_device`: this rank's does);
/// kUnknown: some does, and no rank keeps it there.
[[nodiscard]] Where flat_ask(const Operation& operation, size_t bytes, Slots& slots, bool mine,
                             bool on_device);

}  // namespace tern::coll
