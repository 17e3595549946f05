// SPDX-License-Identifier: Apache-2.0
// Parts: one rank's part of a flat collective, as epochs: in each the rank writes its own slot,
// then reads the others' slots. Longer data go in pieces of a slot's size, an epoch each. Why: a
// blocking call waits between write and read, a call in flight (queue.hpp) writes ahead. Errors: a
// wait throws Error after a rank's refusal (coll/engine/refusal.hpp). Lifetime: of one call.
#pragma once

#include <vector>

#include "coll/flat/shape.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/where.hpp"

namespace tern::coll {

class Parts : protected FlatShape {
 public:
  Parts(const Operation& operation, Slots& slots) noexcept;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  virtual ~Parts() = default;

  /// At least one.
  [[nodiscard]] int64_t epochs() const noexcept { return epochs_; }
  /// The slots that read() takes of an epoch: of ranks [first, end); `named`: of ranks
  /// source(first) to source(end - 1).
  struct Sources {
    int first, end;
    bool named = false;
  };
  [[nodiscard]] virtual Sources sources(int64_t epoch) const noexcept;
  [[nodiscard]] virtual int source(int place) const noexcept { return place; }
  /// Whether write() uses the own slot of an epoch.
  [[nodiscard]] virtual bool writes(int64_t epoch) const noexcept;
  /// Whether an epoch can be written once so many have been read.
  [[nodiscard]] virtual bool can_write(int64_t /*epoch*/, int64_t /*read*/) const noexcept {
    return true;
  }
  /// The epoch whose own slot reading this one fills, or kNoEpoch.
  static constexpr int64_t kNoEpoch = -1;
  [[nodiscard]] virtual int64_t fills(int64_t /*epoch*/) const noexcept { return kNoEpoch; }
  /// Slots::reach of the readers of this rank's slots, and of the writers for it.
  virtual void reach();
  /// Claims and posts the own slot of an epoch that the slots are at.
  virtual void write(int64_t epoch);
  /// Awaits each of the sources' slots.
  virtual void read(int64_t epoch);
  /// Instead: this rank's data lies on a device.
  void write_elsewhere();
  /// Of the epoch, once all have posted it: whose data does.
  [[nodiscard]] static Where where(Slots& slots);
  /// All epochs, one after the other.
  void run(int64_t first = 0) {
    if (TERN_UNLIKELY(!slots_.reaches_all())) reach();
    for (int64_t epoch = first; epoch < epochs_; ++epoch) {
      slots_.begin(name_);
      write(epoch);
      read(epoch);
      slots_.end();
    }
  }

  /// The same, unless some rank's data lies on a device (`mine`: this one's).
  [[nodiscard]] Where run_here(bool mine);

  /// In two epochs a piece: each rank reduces its slice, then everybody, or the root, reads them.
  void reduce_sliced(bool all);

  /// The first error class, with fail() text.
  [[nodiscard]] int code() const noexcept { return code_; }

 protected:
  // move.cc
  /// Posts a piece of a block.
  void post_block(const View& view, int block, const Range& range);
  /// Posts a piece of every other rank's block, in the order of ranks.
  void post_blocks(const View& view, const Range& range);
  /// The place of this rank's block among those of a rank's slot.
  [[nodiscard]] size_t place_with(int rank) const noexcept {
    return static_cast<size_t>(rank_ > rank ? rank_ - 1 : rank_);
  }
  /// A piece of block `to` is what the rank has posted, from an offset on.
  void take(int rank, int to, const Range& range, size_t posted, size_t offset);
  void take_blocks(const Range& range);
  void take_exchanged(const Range& range);
  /// What a rank has posted, which must be so many bytes.
  const std::byte* await(int rank, size_t bytes);
  void await_all();
  // reduce.cc
  /// Posts the elements of the own input.
  void post(const Range& range);
  void post_scattered(const Range& range);
  void reduce_scattered(const Range& range);
  /// The output's piece = the inputs of ranks [0, end), reduced in the order of ranks.
  void reduce_read(int end, const Range& range);
  /// to = what ranks `first` to `last` have posted, reduced in the order of ranks: `range` of their
  /// elements; all have been awaited. The own operand lies at `mine` where that is not null.
  void reduce_posted(int first, int last, const Range& range, std::byte* to,
                     const std::byte* mine = nullptr);
  /// In place, and the own operand may be the first: it needs no copy.
  [[nodiscard]] bool reduces_onto_own() const noexcept;
  void post_others_slices(const Range& range, const Range& own);
  /// own = the others' posted elements reduced onto it.
  void reduce_onto_own(const Range& posted, std::byte* own);
  void reduce_own_slice(const Range& range, const Range& own, bool onto_own, std::byte* result);
  void copy_own(int input_block, int output_block) noexcept;

  // Not after a failure.
  void apply(const std::byte* in, std::byte* inout, MPI_Count count) noexcept {
    if (TERN_UNLIKELY(code_ != 0)) return;
    const int code = operation_.op->apply(in, inout, count, *operation_.input.type);
    if (TERN_UNLIKELY(code != MPI_SUCCESS)) code_ = code;
  }

  Slots& slots_;
  const char* const name_;
  int code_ = 0;
};

}  // namespace tern::coll
