// SPDX-License-Identifier: Apache-2.0
// Group: an ordered set of processes, as peer indices.
// Why: the world, strided subsets and small unions of ranges cost a few words instead of a table.
// Cost: arithmetic for a range, a walk over at most kMostRuns ranges, or a table lookup and binary
// search, with 8 bytes per member.
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

  Group(uint32_t first, int64_t stride, int size) noexcept
      : Object(Kind::kGroup), range_{first, stride, 0, size}, size_(size) {}
  /// `peers` has no duplicates; a few ranges are stored as ranges.
  explicit Group(const std::vector<uint32_t>& peers);
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
  [[nodiscard]] int rank_of(uint32_t peer) const noexcept;
  /// In an identity group, rank r is peer r.
  [[nodiscard]] bool identity() const noexcept {
    return shared_ == nullptr && range_.first == 0 && (range_.stride == 1 || size_ <= 1);
  }
  [[nodiscard]] bool equals(const Group& other) const noexcept;
  [[nodiscard]] size_t runs() const noexcept;

  Ref<Object> session;

 private:
  friend class GroupBuilder;
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

/// GroupBuilder throws std::bad_alloc only.
class GroupBuilder {
 public:
  /// The caller of add() must avoid duplicates.
  void add(uint32_t peer);
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] Ref<Group> finish();

 private:
  void spill();
  int size_ = 0;
  std::vector<Group::Run> runs_;
  std::vector<uint32_t> table_;
};

void make_predefined_groups(Process& process);
void end_predefined_groups(Process& process) noexcept;

[[nodiscard]] Ref<Group> group_union(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_intersection(const Group& first, const Group& second);
[[nodiscard]] Ref<Group> group_difference(const Group& first, const Group& second);
[[nodiscard]] int group_compare(const Group& first, const Group& second) noexcept;

}  // namespace tern::core
