// SPDX-License-Identifier: Apache-2.0
// Epochs: inputs of piece 0; then in turn inputs of piece k and results of piece k - 1; last
// results.
#include "coll/flat/sliced.hpp"

namespace tern::coll {

Sliced::Sliced(const Operation& operation, Slots& slots) noexcept
    : Parts(operation, slots),
      pieces_(epochs_),
      all_(operation.collective == Collective::kAllreduce),
      onto_own_(all_ && reduces_onto_own()) {
  epochs_ = 2 * pieces_;
}

Sliced::EpochRole Sliced::part_of(int64_t epoch) const noexcept {
  if (epoch == 0) return {0, false};
  if (epoch == epochs_ - 1) return {pieces_ - 1, true};
  return epoch % 2 != 0 ? EpochRole{(epoch + 1) / 2, false} : EpochRole{epoch / 2 - 1, true};
}

int64_t Sliced::inputs_of(int64_t piece) const noexcept { return piece == 0 ? 0 : 2 * piece - 1; }

int64_t Sliced::results_of(int64_t piece) const noexcept {
  return piece == pieces_ - 1 ? epochs_ - 1 : 2 * piece + 2;
}

bool Sliced::can_write(int64_t epoch, int64_t read) const noexcept {
  const EpochRole part = part_of(epoch);
  return !part.results || read > inputs_of(part.piece);
}

int64_t Sliced::fills(int64_t epoch) const noexcept {
  const EpochRole part = part_of(epoch);
  return part.results ? kNoEpoch : results_of(part.piece);
}

void Sliced::write(int64_t epoch) {
  const EpochRole part = part_of(epoch);
  const ElementRange range = piece(part.piece), own = slice(range.count, rank_);
  if (!part.results) return post_others_slices(range, own);
  slots_.claim();
  slots_.post(bytes_of(own.count));
}

void Sliced::read(int64_t epoch) {
  const EpochRole part = part_of(epoch);
  const ElementRange range = piece(part.piece);
  if (part.results) return copy_results(range);
  for (int i = 0; i < ranks_; ++i) await(i, bytes_of(range.count));
  slots_.awaited_all();
  if (code_ != MPI_SUCCESS) return;
  std::byte* const result = slots_.ahead(static_cast<uint64_t>(results_of(part.piece) - epoch));
  reduce_own_slice(range, slice(range.count, rank_), onto_own_, result);
}

void Sliced::copy_results(const ElementRange& range) {
  if (!all_ && rank_ != root_) return;
  for (int i = 0; i < ranks_; ++i) {
    if (i == rank_ && onto_own_) continue;
    const ElementRange part = slice(range.count, i);
    const std::byte* const reduced = await(i, bytes_of(part.count));
    if (code_ != MPI_SUCCESS) return;
    copy_bytes(out_.at(0, bytes_of(range.first + part.first)), reduced, bytes_of(part.count));
  }
  slots_.awaited_all();
}

}  // namespace tern::coll
