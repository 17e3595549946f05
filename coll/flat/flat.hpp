// SPDX-License-Identifier: Apache-2.0
// Flat: collectives of ranks on one host, without messages: every rank writes a slot and reads the
// peers' slots. Why: with more ranks than cores, a flat collective costs a context switch instead
// of several.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/where.hpp"
#include "coll/schedule/flat_method.hpp"
#include "coll/select/question.hpp"

namespace tern::coll {

/// From kLeastOnDevice bytes on, ranks first agree whether data lies on devices.
inline constexpr size_t kLeastOnDevice = 65536;
/// Slots serve reductions only of small elements without holes.
[[nodiscard]] bool flat_takes(const Operation& operation) noexcept;
/// flat_bytes() counts a rank's bytes for its peers over all epochs, equal on all ranks.
[[nodiscard]] size_t flat_bytes(const Question& question) noexcept;
[[nodiscard]] inline size_t slot_bytes(const Question& question) noexcept {
  const size_t all = flat_bytes(question);
  const Collective what = question.collective;
  return what == Collective::kScatter || what == Collective::kAlltoall ? all - question.bytes : all;
}
/// room_for() gives calls with a schedule the large slab, for devices. Two levels need more slots
/// than the small lane has.
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
[[nodiscard]] inline bool fits_in_slot(const Operation& operation, const Question& question,
                                       const Lane& lane) noexcept {
  return operation.collective != Collective::kReduceScatter ||
         static_cast<size_t>(operation.input.type->size() * question.ranks) <= lane.room();
}
/// flat_run() runs the operation; all ranks pass the same `method`. Returns MPI_ERR_TRUNCATE, with
/// the text in fail(), if a peer's part has another size.
[[nodiscard]] int flat_run(const Operation& operation, FlatMethod method, Slots& slots);

[[nodiscard]] bool all_read_all(Collective what) noexcept;
/// flat_run_here() has no effect if some rank (`mine`: this rank) keeps its data on a device.
/// kHost: the call is done. kAll: the call is not done, and the data has equal sizes on all
/// devices.
[[nodiscard]] Where flat_run_here(const Operation& operation, Slots& slots, bool mine, int* code);
/// `on_device`: this rank's data lies on a device. kHost: no rank's data lies on a device.
/// kUnknown: some data lies on a device, but no rank keeps its data there.
[[nodiscard]] Where flat_ask(const Operation& operation, size_t bytes, Slots& slots, bool mine,
                             bool on_device);

}  // namespace tern::coll
