// SPDX-License-Identifier: Apache-2.0
// Parts: a rank's part of a flat collective, as epochs. In an epoch the rank writes its slot, then
// reads the peers' slots. Long data takes an epoch per slot-sized piece. Errors: a wait throws
// Error after a rank's refusal (coll/engine/refusal.hpp).
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

  [[nodiscard]] int64_t epochs() const noexcept { return epochs_; }
  /// Sources: slots read in an epoch, of ranks [first, end), or, if `named`, of source(first) to
  /// source(end - 1).
  struct Sources {
    int first, end;
    bool named = false;
  };
  [[nodiscard]] virtual Sources sources(int64_t epoch) const noexcept;
  [[nodiscard]] virtual int source(int place) const noexcept { return place; }
  [[nodiscard]] virtual bool writes(int64_t epoch) const noexcept;
  /// can_write(): `epoch` can be written after `read` epochs were read.
  [[nodiscard]] virtual bool can_write(int64_t /*epoch*/, int64_t /*read*/) const noexcept {
    return true;
  }
  /// Reading epoch k fills the slot of epoch fills(k), if any.
  static constexpr int64_t kNoEpoch = -1;
  [[nodiscard]] virtual int64_t fills(int64_t /*epoch*/) const noexcept { return kNoEpoch; }
  virtual void reach();
  virtual void write(int64_t epoch);
  virtual void read(int64_t epoch);
  void write_elsewhere();
  [[nodiscard]] static Where where(Slots& slots);
  void run(int64_t first = 0) {
    if (TERN_UNLIKELY(!slots_.reaches_all())) reach();
    for (int64_t epoch = first; epoch < epochs_; ++epoch) {
      slots_.begin(name_);
      write(epoch);
      read(epoch);
      slots_.end();
    }
  }

  /// run_here() does nothing if some rank's data lies on a device (`mine`: this rank's).
  [[nodiscard]] Where run_here(bool mine);

  /// reduce_sliced() takes two epochs per piece.
  void reduce_sliced(bool all);

  [[nodiscard]] int code() const noexcept { return code_; }

 protected:
  // move.cc
  void post_block(const View& view, int block, const ElementRange& range);
  /// Posts pieces for every other rank, in rank order.
  void post_blocks(const View& view, const ElementRange& range);
  /// place_with() is the index of this rank's block in a rank's slot.
  [[nodiscard]] size_t place_with(int rank) const noexcept {
    return static_cast<size_t>(rank_ > rank ? rank_ - 1 : rank_);
  }
  /// Copies a piece of block `to` from the rank's post.
  void take(int rank, int to, const ElementRange& range, size_t posted, size_t offset);
  void take_blocks(const ElementRange& range);
  void take_exchanged(const ElementRange& range);
  const std::byte* await(int rank, size_t bytes);
  void await_all();
  // reduce.cc
  /// Posts elements of this rank's input.
  void post(const ElementRange& range);
  void post_scattered(const ElementRange& range);
  void reduce_scattered(const ElementRange& range);
  /// Reduces inputs of ranks [0, end), in rank order.
  void reduce_read(int end, const ElementRange& range);
  /// to = posts of ranks `first` to `last`, all awaited, reduced in rank order. `mine`: this rank's
  /// operand, unless null.
  void reduce_posted(int first, int last, const ElementRange& range, std::byte* to,
                     const std::byte* mine = nullptr);
  /// reduces_onto_own() is true for an in-place call whose first operand is this rank's: no copy is
  /// needed.
  [[nodiscard]] bool reduces_onto_own() const noexcept;
  void post_others_slices(const ElementRange& range, const ElementRange& own);
  void reduce_onto_own(const ElementRange& posted, std::byte* own);
  void reduce_own_slice(const ElementRange& range, const ElementRange& own, bool onto_own,
                        std::byte* result);
  void copy_own(int input_block, int output_block) noexcept;

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
