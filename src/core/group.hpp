// SPDX-License-Identifier: Apache-2.0
// Group: an ordered set of processes, as peer indices.
// Why: the world, strided subsets and small unions of ranges cost a few words instead of a table.
// Lifetime: reference counted, immutable; a copy shares the table. Threads: any.
// Cost: peer_index and rank_of take arithmetic for a range, a walk over at most kMostRuns ranges,
// or (table) a load and a binary search. Memory: 8 bytes per member for a table, otherwise none.
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

  struct Run {
    int64_t first;
    int64_t stride;
    int start;
    int size;
    [[nodiscard]] uint32_t at(int rank) const noexcept {
      return static_cast<uint32_t>(first + (rank - start) * stride);
    }
    [[nodiscard]] int find(uint32_t peer) const noexcept;
  };

  /// `size` peers: first, first + stride, ...; size 0 is the empty group.
  Group(uint32_t first, int64_t stride, int size) noexcept
      : Object(Kind::kGroup), range_{first, stride, 0, size}, size_(size) {}
  /// Any list without duplicates; stored as ranges if few suffice.
  explicit Group(const std::vector<uint32_t>& peers);
  /// The same members under a separate handle and lifetime.
  explicit Group(const Group& other) noexcept
      : Object(Kind::kGroup),
        session(other.session),
        range_(other.range_),
        size_(other.size_),
        shared_(other.shared_) {}

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] uint32_t peer_index(int rank) const noexcept {
    return shared_ == nullptr ? range_.at(rank) : mapped_index(rank);
  }
  /// The rank of a peer; MPI_UNDEFINED for a non-member.
  [[nodiscard]] int rank_of(uint32_t peer) const noexcept;
  /// Whether rank r is peer r: lookups are unnecessary.
  [[nodiscard]] bool identity() const noexcept {
    return shared_ == nullptr && range_.first == 0 && (range_.stride == 1 || size_ <= 1);
  }
  /// Whether every rank names the same peer in both groups.
  [[nodiscard]] bool equals(const Group& other) const noexcept;
  /// The number of ranges describing the group; 0 for a table.
  [[nodiscard]] size_t runs() const noexcept;

  Ref<Object> session;  // the session it derives from; null for the world's

 private:
  friend class GroupBuilder;
  /// For a group beyond one range: the ranges, or the table and its ranks sorted by peer.
  struct Map {
    std::vector<Run> runs;
    std::vector<uint32_t> table;
    std::vector<int> by_peer;
  };
  explicit Group(std::shared_ptr<const Map> map, int size) noexcept
      : Object(Kind::kGroup), range_{0, 1, 0, size}, size_(size), shared_(std::move(map)) {}
  [[nodiscard]] uint32_t mapped_index(int rank) const noexcept;

  Run range_;
  int size_;
  std::shared_ptr<const Map> shared_;
};

/// Builds a group member by member, as ranges while few suffice. Throws std::bad_alloc only.
class GroupBuilder {
 public:
  /// Adds the next rank's peer. The caller must avoid duplicates.
  void add(uint32_t peer);
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] Ref<Group> finish();

 private:
  void spill();
  int size_ = 0;
  std::vector<Group::Run> runs_;
  std::vector<uint32_t> table_;  // used beyond kMostRuns ranges
};

/// Creates MPI_GROUP_EMPTY and enters it in the process's handle table; end_predefined_groups
/// removes it.
void make_predefined_groups(Process& process);
void end_predefined_groups(Process& process) noexcept;

// The set operations of MPI-5.0 section 7.3.2, in the standard's order.
[[nodiscard]] Ref<Group> group_union(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_intersection(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_difference(const Group& first, const Group& second);
[[nodiscard]] int group_compare(const Group& first, const Group& second) noexcept;

}  // namespace tern::core
