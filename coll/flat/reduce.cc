// SPDX-License-Identifier: Apache-2.0
// Parts: reductions, from the last operand to the first, as `op` requires.
#include "coll/flat/parts.hpp"

namespace tern::coll {

void Parts::post(const ElementRange& range) {
  std::byte* const slot = slots_.claim();
  in_.read(0, bytes_of(range.first), slot, bytes_of(range.count));
  slots_.post(bytes_of(range.count));
}

bool Parts::reduces_onto_own() const noexcept {
  if (!operation_.in_place) return false;
  return rank_ == ranks_ - 1 || (ranks_ == 2 && operation_.op->changes_places());
}

void Parts::reduce_posted(int first, int last, const ElementRange& range, std::byte* to,
                          const std::byte* mine) {
  if (range.count == 0) return;
  const auto operand = [&](int rank) {
    if (rank == rank_ && mine != nullptr) return mine;
    return static_cast<const std::byte*>(slots_.await(rank).data() + bytes_of(range.first));
  };
  copy_bytes(to, operand(last), bytes_of(range.count));
  for (int rank = last - 1; rank >= first; --rank) apply(operand(rank), to, range.count);
}

// Uses this rank's slot as operand: in place, the input is the output.
void Parts::reduce_read(int end, const ElementRange& range) {
  for (int i = 0; i < end; ++i) await(i, bytes_of(range.count));
  if (end == ranks_) slots_.awaited_all();
  if (end > 0) reduce_posted(0, end - 1, {0, range.count}, out_.at(0, bytes_of(range.first)));
}

// post_others_slices() omits this rank's slice, which no peer needs.
void Parts::post_others_slices(const ElementRange& range, const ElementRange& own) {
  std::byte* const slot = slots_.claim();
  in_.read(0, bytes_of(range.first), slot, bytes_of(own.first));
  in_.read(0, bytes_of(range.first + own.end()), slot + bytes_of(own.end()),
           bytes_of(range.count - own.end()));
  slots_.post(bytes_of(range.count));
}

void Parts::reduce_onto_own(const ElementRange& posted, std::byte* own) {
  if (posted.count == 0) return;
  for (int rank = ranks_ - 1; rank >= 0; --rank)
    if (rank != rank_) apply(slots_.await(rank).data() + bytes_of(posted.first), own, posted.count);
}

// In place, this rank's operand is the output; staged data has a separate input.
void Parts::reduce_own_slice(const ElementRange& range, const ElementRange& own, bool onto_own,
                             std::byte* result) {
  std::byte* const mine = (onto_own ? out_ : in_).at(0, bytes_of(range.first + own.first));
  if (!onto_own) return reduce_posted(0, ranks_ - 1, own, result, mine);
  reduce_onto_own(own, mine);
  copy_bytes(result, mine, bytes_of(own.count));
}

void Parts::reduce_sliced(bool all) {
  const bool onto_own = all && reduces_onto_own();
  slots_.reach(0, ranks_);
  const MPI_Count total = operation_.input.count;
  const MPI_Count most = static_cast<MPI_Count>(slots_.room()) / size_;
  MPI_Count at = 0;
  do {
    const ElementRange range{at, std::min(most, total - at)};
    const ElementRange own = slice(range.count, rank_);
    slots_.begin(name_);
    post_others_slices(range, own);
    for (int i = 0; i < ranks_; ++i) await(i, bytes_of(range.count));
    slots_.awaited_all();
    reduce_own_slice(range, own, onto_own, slots_.ahead(1));
    slots_.end();
    slots_.begin(name_);
    slots_.claim();
    slots_.post(bytes_of(own.count));
    if (all || rank_ == root_) {
      for (int i = 0; i < ranks_; ++i) {
        if (i == rank_ && onto_own) continue;
        const ElementRange part = slice(range.count, i);
        const std::byte* const reduced = await(i, bytes_of(part.count));
        copy_bytes(out_.at(0, bytes_of(range.first + part.first)), reduced, bytes_of(part.count));
      }
      slots_.awaited_all();
    }
    slots_.end();
    at += range.count;
  } while (at < total);
}

void Parts::post_scattered(const ElementRange& range) {
  std::byte* const slot = slots_.claim();
  MPI_Count filled = 0, before = 0;
  for (int i = 0; i < ranks_; before += length_of(i++)) {
    const MPI_Count count = length_in(i, range);
    if (count == 0) continue;
    copy_bytes(slot + bytes_of(filled), in_.at(0, bytes_of(before + range.first)), bytes_of(count));
    filled += count;
  }
  slots_.post(bytes_of(filled));
}

void Parts::reduce_scattered(const ElementRange& range) {
  const Scattered piece = scattered(range);
  for (int i = 0; i < ranks_; ++i) await(i, bytes_of(piece.all));
  slots_.awaited_all();
  reduce_posted(0, ranks_ - 1, piece.own, out_.at(0, bytes_of(range.first)));
}

}  // namespace tern::coll
