// SPDX-License-Identifier: Apache-2.0
// Flat reductions. Operands are taken from the last rank to the first, as `op` wants them: every
// rank that computes an element does so alike.
#include "coll/flat/parts.hpp"

namespace tern::coll {

void Parts::post(const Range& range) noexcept {
  std::byte* const slot = slots_.claim();
  in_.read(0, bytes_of(range.first), slot, bytes_of(range.count));
  slots_.post(bytes_of(range.count));
}

void Parts::reduce_posted(int first, int last, const Range& range, std::byte* to) noexcept {
  if (range.count == 0) return;
  const auto operand = [&](int rank) { return slots_.await(rank).data() + bytes_of(range.first); };
  copy_bytes(to, operand(last), bytes_of(range.count));
  for (int rank = last - 1; rank >= first; --rank)
    operation_.op->apply(operand(rank), to, range.count, *operation_.input.type);
}

// The root's own part goes through its slot, too: in place it is where the result will be.
void Parts::reduce() noexcept {
  in_ranges(operation_.input.count, elements_of_slot(), [&](const Range& range) {
    slots_.begin(name_);
    post(range);
    if (rank_ == root_) {
      for (int i = 0; i < ranks_; ++i) await(i, bytes_of(range.count));
      slots_.awaited_all();
      reduce_posted(0, ranks_ - 1, {0, range.count}, out_.at(0, bytes_of(range.first)));
    }
    slots_.end();
  });
}

void Parts::allreduce() noexcept {
  in_ranges(operation_.input.count, elements_of_slot(), [&](const Range& range) {
    slots_.begin(name_);
    post(range);
    for (int i = 0; i < ranks_; ++i) await(i, bytes_of(range.count));
    slots_.awaited_all();
    reduce_posted(0, ranks_ - 1, {0, range.count}, out_.at(0, bytes_of(range.first)));
    slots_.end();
  });
}

void Parts::reduce_sliced(bool all) noexcept {
  in_ranges(operation_.input.count, elements_of_slot(), [&](const Range& range) {
    const Range own = slice(range.count, rank_);
    slots_.begin(name_);
    post(range);
    for (int i = 0; i < ranks_; ++i) await(i, bytes_of(range.count));
    slots_.awaited_all();
    // The result goes into the slot of the next turn, which nobody reads: all have posted this one.
    std::byte* const result = slots_.next();
    reduce_posted(0, ranks_ - 1, own, result);
    slots_.end();
    slots_.begin(name_);
    slots_.claim();
    slots_.post(bytes_of(own.count));
    if (all || rank_ == root_) {
      for (int i = 0; i < ranks_; ++i) {
        const Range part = slice(range.count, i);
        const std::byte* const reduced = await(i, bytes_of(part.count));
        copy_bytes(out_.at(0, bytes_of(range.first + part.first)), reduced, bytes_of(part.count));
      }
      slots_.awaited_all();
    }
    slots_.end();
  });
}

// A piece has some elements of every block, one after the other: counts may differ by block.
void Parts::reduce_scatter() noexcept {
  MPI_Count longest = 0;
  for (int i = 0; i < ranks_; ++i) longest = std::max(longest, length_of(i));
  in_ranges(longest, std::max<MPI_Count>(elements_of_slot() / ranks_, 1), [&](const Range& range) {
    slots_.begin(name_);
    std::byte* const slot = slots_.claim();
    MPI_Count filled = 0, before = 0;
    Range own{0, 0};
    for (int i = 0; i < ranks_; before += length_of(i++)) {
      const MPI_Count count = std::clamp<MPI_Count>(length_of(i) - range.first, 0, range.count);
      if (i == rank_) own = {filled, count};
      if (count > 0)
        copy_bytes(slot + bytes_of(filled), in_.at(0, bytes_of(before + range.first)),
                   bytes_of(count));
      filled += count;
    }
    slots_.post(bytes_of(filled));
    for (int i = 0; i < ranks_; ++i) await(i, bytes_of(filled));
    slots_.awaited_all();
    reduce_posted(0, ranks_ - 1, own, out_.at(0, bytes_of(range.first)));
    slots_.end();
  });
}

void Parts::scan(int last) noexcept {
  in_ranges(operation_.input.count, elements_of_slot(), [&](const Range& range) {
    slots_.begin(name_);
    post(range);
    for (int i = 0; i <= last; ++i) await(i, bytes_of(range.count));
    if (last >= 0) reduce_posted(0, last, {0, range.count}, out_.at(0, bytes_of(range.first)));
    slots_.end();
  });
}

}  // namespace tern::coll
