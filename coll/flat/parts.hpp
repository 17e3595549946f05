// SPDX-License-Identifier: Apache-2.0
// Parts: what one rank does in a flat collective, as epochs: in each it writes its part into its
// slot, then reads the others'. Longer data go in pieces that a slot holds, an epoch each. Why: a
// blocking call waits between the two, one in flight (queue.hpp) writes ahead and reads what has
// come. What waits throws Error where a rank takes no part (coll/engine/refusal.hpp). Lifetime: of
// one call.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/view.hpp"
#include "coll/flat/where.hpp"

namespace tern::coll {

class Parts {
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
  struct Range {
    MPI_Count first, count;  // elements
    [[nodiscard]] MPI_Count end() const noexcept { return first + count; }
  };

  /// The units (bytes, or elements where they are reduced) that an epoch takes of each block.
  [[nodiscard]] Range piece(int64_t epoch) const noexcept {
    const MPI_Count first = epoch * most_;
    return {first, std::min(most_, total_ - first)};
  }
  void plan_epochs() noexcept;

  /// Pieces of a vector, in elements.
  template <class Epoch>
  void in_ranges(MPI_Count total, MPI_Count most, const Epoch& epoch) {
    MPI_Count at = 0;
    do {
      const MPI_Count count = std::min(most, total - at);
      epoch(Range{at, count});
      at += count;
    } while (at < total);
  }
  [[nodiscard]] MPI_Count elements_of_slot() const noexcept {
    return static_cast<MPI_Count>(slots_.room()) / size_;
  }
  [[nodiscard]] size_t bytes_of(MPI_Count elements) const noexcept {
    return static_cast<size_t>(elements * size_);
  }
  [[nodiscard]] Range slice(MPI_Count total, int of) const noexcept {
    const MPI_Count first = total * of / ranks_, end = total * (of + 1) / ranks_;
    return {first, end - first};
  }

  // move.cc
  /// Posts a piece of a block.
  void post_block(const View& view, int block, const Range& range);
  /// Posts a piece of every other rank's block.
  void post_blocks(const View& view, const Range& range);
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
  /// A piece of a reduce-scatter: some elements of every block, one block after the other.
  struct Scattered {
    MPI_Count all;  // elements of all blocks
    Range own;      // of this rank's block, among these
  };
  [[nodiscard]] MPI_Count length_in(int block, const Range& range) const noexcept {
    return std::clamp<MPI_Count>(length_of(block) - range.first, 0, range.count);
  }
  [[nodiscard]] Scattered scattered(const Range& range) const noexcept;
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
  /// Elements of a block of a reduce-scatter: all ranks know all of them.
  [[nodiscard]] MPI_Count length_of(int block) const noexcept {
    const Side& input = operation_.input;
    return input.counts == nullptr ? input.count : input.counts[block];
  }
  void copy_own(int input_block, int output_block) noexcept;

  // Not after a failure.
  void apply(const std::byte* in, std::byte* inout, MPI_Count count) noexcept {
    if (TERN_UNLIKELY(code_ != 0)) return;
    const int code = operation_.op->apply(in, inout, count, *operation_.input.type);
    if (TERN_UNLIKELY(code != MPI_SUCCESS)) code_ = code;
  }

  const Operation& operation_;
  Slots& slots_;
  const char* const name_;
  const int rank_, ranks_, root_;
  View in_, out_;
  MPI_Count size_ = 1;   // of a unit: a byte, or an element
  MPI_Count total_ = 0;  // units of each block
  MPI_Count most_ = 1;   // in an epoch
  int64_t epochs_ = 1;
  int code_ = 0;
};

}  // namespace tern::coll
