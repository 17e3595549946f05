// SPDX-License-Identifier: Apache-2.0
// FlatShape: sizes of a flat collective: units (bytes, or elements of a reduction), pieces (of each
// block, per epoch) and slices (reduced by a rank).
#pragma once

#include <algorithm>

#include "coll/engine/operation.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/view.hpp"

namespace tern::coll {

class FlatShape {
 protected:
  FlatShape(const Operation& operation, const Slots& slots) noexcept;
  ~FlatShape() = default;

  [[nodiscard]] ElementRange piece(int64_t epoch) const noexcept {
    const MPI_Count first = epoch * most_;
    return {first, std::min(most_, total_ - first)};
  }
  [[nodiscard]] size_t bytes_of(MPI_Count units) const noexcept {
    return static_cast<size_t>(units * size_);
  }
  [[nodiscard]] ElementRange slice(MPI_Count total, int of) const noexcept {
    const MPI_Count first = total * of / ranks_, end = total * (of + 1) / ranks_;
    return {first, end - first};
  }
  /// Known to all ranks.
  [[nodiscard]] MPI_Count length_of(int block) const noexcept {
    const Side& input = operation_.input;
    return input.counts == nullptr ? input.count : input.counts[block];
  }
  [[nodiscard]] MPI_Count length_in(int block, const ElementRange& range) const noexcept {
    return std::clamp<MPI_Count>(length_of(block) - range.first, 0, range.count);
  }
  /// Elements of every block, block after block.
  struct Scattered {
    MPI_Count all;
    ElementRange own;  // this rank's part of `all`
  };
  [[nodiscard]] Scattered scattered(const ElementRange& range) const noexcept;

  const Operation& operation_;
  const int rank_, ranks_, root_;
  View in_, out_;
  MPI_Count size_ = 1;   // bytes
  MPI_Count total_ = 0;  // units per block
  MPI_Count most_ = 1;   // units per epoch
  int64_t epochs_ = 1;

 private:
  void plan_epochs(MPI_Count room) noexcept;
};

}  // namespace tern::coll
