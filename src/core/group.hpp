// SPDX-License-Identifier: Apache-2.0
// Group: an ordered set of processes, as peer indices.
// Why: the world, its strided subsets and unions of a few of them cost a few words, not a table of
// their size. Lifetime: reference counted, immutable; a copy shares the table. Threads: any. Cost:
// peer_index and rank_of are arithmetic for a range, a walk over at most kMostRuns ranges, or (a
// table) a load and a binary search; 8 bytes per member for a table, nothing per member otherwise.
// See: MPI-5.0 section 7.3; tests/unit/core/group_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/object.hpp"

namespace tern::core {

class Process;

class Group final : public Object {
 public:
  static constexpr Kind kKind = Kind::kGroup;
  static constexpr size_t kMostRuns = 16;

  /// The ranks start, start + 1, ... are the peers first, first + stride, ...
  struct Run {
    int64_t first;
    int64_t stride;
    int start;
    int size;
    [[nodiscard]] uint32_t at(int rank) const noexcept {
      return static_cast<uint32_t>(first + (rank - start) * stride);
    }
    /// The rank of `peer`, or -1.
    [[nodiscard]] int find(uint32_t peer) const noexcept;
  };

  /// The peers first, first + stride, ... (size of them); size 0 is the empty group.
  Group(uint32_t first, int64_t stride, int size) noexcept
      : Object(Kind::kGroup), range_{first, stride, 0, size}, size_(size) {}
  /// Any list without repetition; compressed where it consists of few ranges.
  explicit Group(const std::vector<uint32_t>& peers);
  /// The same members under a handle (and a life) of its own.
  explicit Group(const Group& other) noexcept
      : Object(Kind::kGroup),
        session(other.session),
        range_(other.range_),
        size_(other.size_),
        shared_(other.shared_) {}

  [[nodiscard]] int size() const noexcept { return size_; }
  /// The peer index of a rank, 0 <= rank < size().
  [[nodiscard]] uint32_t peer_index(int rank) const noexcept {
    return shared_ == nullptr ? range_.at(rank) : mapped_index(rank);
  }
  /// The rank of a peer; MPI_UNDEFINED where it is no member.
  [[nodiscard]] int rank_of(uint32_t peer) const noexcept;
  /// True where rank r is peer r: then no look-up is needed at all.
  [[nodiscard]] bool identity() const noexcept {
    return shared_ == nullptr && range_.first == 0 && (range_.stride == 1 || size_ <= 1);
  }
  /// True where every rank names the same peer in both.
  [[nodiscard]] bool equals(const Group& other) const noexcept;
  /// Ranges that describe the group; 0 where it needs a table.
  [[nodiscard]] size_t runs() const noexcept;

  Ref<Object> session;  // that it comes from; null for the world's

 private:
  friend class GroupBuilder;
  /// What a group needs that is not one range: the ranges, or the table with its ranks in order of
  /// peers.
  struct Map {
    std::vector<Run> runs;
    std::vector<uint32_t> table;
    std::vector<int> by_peer;
  };
  explicit Group(std::shared_ptr<const Map> map, int size) noexcept
      : Object(Kind::kGroup), range_{0, 1, 0, size}, size_(size), shared_(std::move(map)) {}
  [[nodiscard]] uint32_t mapped_index(int rank) const noexcept;

  Run range_;  // used where shared_ is null
  int size_;
  std::shared_ptr<const Map> shared_;
};

/// Builds a group member by member, in ranges as long as they are few. Throws std::bad_alloc only.
class GroupBuilder {
 public:
  /// The next rank's peer; the caller sees to it that none comes twice.
  void add(uint32_t peer);
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] Ref<Group> finish();

 private:
  void spill();
  int size_ = 0;
  std::vector<Group::Run> runs_;
  std::vector<uint32_t> table_;  // once there are too many runs
};

/// Makes MPI_GROUP_EMPTY and enters it in the process's handle table; removed by
/// end_predefined_groups.
void make_predefined_groups(Process& process);
void end_predefined_groups(Process& process) noexcept;

// The set operations of MPI-5.0 section 7.3.2. Order: as the standard defines it for each.
[[nodiscard]] Ref<Group> group_union(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_intersection(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_difference(const Group& first, const Group& second);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
[[nodiscard]] int group_compare(const Group& first, const Group& second) noexcept;

}  // namespace tern::core
