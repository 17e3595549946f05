// SPDX-License-Identifier: Apache-2.0
// Group: an ordered set of processes, as peer indices.
// Why: the world and its strided subsets cost a few words, not a table of their size.
// Lifetime: reference counted, immutable. Threads: any.
#pragma once

#include <cstdint>
#include <vector>

#include "core/object.hpp"

namespace tern::core {

class Group final : public Object {
 public:
  static constexpr Kind kKind = Kind::kGroup;
  static constexpr uint32_t kNobody = UINT32_MAX;

  /// The peers first, first + stride, ... (size of them); size 0 is the empty group.
  Group(uint32_t first, int64_t stride, int size) noexcept
      : Object(Kind::kGroup), size_(size), first_(first), stride_(stride) {}
  /// Any list; compressed to a range where it is one.
  explicit Group(std::vector<uint32_t> peers);

  [[nodiscard]] int size() const noexcept { return size_; }
  /// The peer index of a rank, 0 <= rank < size().
  [[nodiscard]] uint32_t peer_index(int rank) const noexcept {
    return table_.empty() ? static_cast<uint32_t>(first_ + rank * stride_)
                          : table_[static_cast<size_t>(rank)];
  }
  /// The rank of a peer; MPI_UNDEFINED where it is no member.
  [[nodiscard]] int rank_of(uint32_t peer) const noexcept;
  /// True where rank r is peer r: then no look-up is needed at all.
  [[nodiscard]] bool identity() const noexcept {
    return table_.empty() && first_ == 0 && (stride_ == 1 || size_ <= 1);
  }

 private:
  int size_ = 0;
  int64_t first_ = 0;
  int64_t stride_ = 1;
  std::vector<uint32_t> table_;                             // empty for a range
  std::vector<std::pair<uint32_t, int>> sorted_;            // (peer, rank), with table_ only
};

}  // namespace tern::core
