// SPDX-License-Identifier: Apache-2.0
// Parts: construction and sizes.
#include "coll/flat/parts.hpp"

namespace tern::coll {

using enum Collective;

FlatShape::FlatShape(const Operation& operation, const Slots& slots) noexcept
    : operation_(operation),
      rank_(slots.rank()),
      ranks_(slots.ranks()),
      root_(operation.root),
      in_(operation.input),
      out_(operation.output) {
  if (operation.op != nullptr) size_ = operation.input.type->size();
  plan_epochs(static_cast<MPI_Count>(slots.room()));
}

Parts::Parts(const Operation& operation, Slots& slots) noexcept
    : FlatShape(operation, slots), slots_(slots), name_(name_of(operation.collective)) {}

// The common single epoch needs no division.
void FlatShape::plan_epochs(MPI_Count room) noexcept {
  const bool root = rank_ == root_;
  MPI_Count blocks = 1;  // blocks per slot
  switch (operation_.collective) {
    case kBarrier:
      break;
    case kGather:
      total_ = static_cast<MPI_Count>((root ? out_ : in_).bytes());
      break;
    case kScatter:
      total_ = static_cast<MPI_Count>((root ? in_ : out_).bytes());
      blocks = std::max(ranks_ - 1, 1);
      break;
    case kAlltoall:
      blocks = std::max(ranks_ - 1, 1);
      [[fallthrough]];
    case kBcast:
    case kAllgather:
      total_ = static_cast<MPI_Count>(out_.bytes());
      break;
    case kReduceScatter:
      for (int i = 0; i < ranks_; ++i) total_ = std::max(total_, length_of(i));
      blocks = ranks_;
      break;
    default:
      total_ = operation_.input.count;
  }
  most_ = total_;
  if (TERN_LIKELY(total_ <= room && total_ * size_ * blocks <= room)) return;
  most_ = std::max<MPI_Count>(room / (size_ * blocks), 1);
  epochs_ = (total_ + most_ - 1) / most_;
}

// Counts may differ between blocks.
FlatShape::Scattered FlatShape::scattered(const ElementRange& range) const noexcept {
  Scattered piece{0, {0, 0}};
  for (int i = 0; i < ranks_; ++i) {
    const MPI_Count count = length_in(i, range);
    if (i == rank_) piece.own = {piece.all, count};
    piece.all += count;
  }
  return piece;
}

}  // namespace tern::coll
