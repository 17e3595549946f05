// SPDX-License-Identifier: Apache-2.0
// Group: compression into ranges, lookup, and the set operations.
#include "core/group.hpp"

#include <algorithm>
#include <numeric>

#include "core/process.hpp"
#include "mpi.h"

namespace tern::core {

int Group::Run::find(uint32_t peer) const noexcept {
  const int64_t distance = static_cast<int64_t>(peer) - first;
  if (size == 0) return -1;
  if (distance == 0) return start;
  if (stride == 0 || distance % stride != 0) return -1;
  const int64_t steps = distance / stride;
  return steps > 0 && steps < size ? start + static_cast<int>(steps) : -1;
}

Group::Group(const std::vector<uint32_t>& peers)
    : Object(Kind::kGroup), range_{0, 1, 0, 0}, size_(static_cast<int>(peers.size())) {
  GroupBuilder builder;
  for (const uint32_t peer : peers) builder.add(peer);
  const Ref<Group> built = builder.finish();
  range_ = built->range_;
  shared_ = built->shared_;
}

uint32_t Group::mapped_index(int rank) const noexcept {
  if (!shared_->table.empty()) return shared_->table[static_cast<size_t>(rank)];
  const std::vector<Run>& runs = shared_->runs;
  size_t i = 0;
  while (i + 1 < runs.size() && runs[i + 1].start <= rank) ++i;
  return runs[i].at(rank);
}

int Group::rank_of(uint32_t peer) const noexcept {
  int rank = -1;
  if (shared_ == nullptr) {
    rank = range_.find(peer);
  } else if (shared_->table.empty()) {
    for (size_t i = 0; rank < 0 && i < shared_->runs.size(); ++i)
      rank = shared_->runs[i].find(peer);
  } else {
    const std::vector<uint32_t>& table = shared_->table;
    const std::vector<int>& order = shared_->by_peer;
    const auto found =
        std::lower_bound(order.begin(), order.end(), peer, [&table](int member, uint32_t wanted) {
          return table[static_cast<size_t>(member)] < wanted;
        });
    if (found != order.end() && table[static_cast<size_t>(*found)] == peer) rank = *found;
  }
  return rank < 0 ? MPI_UNDEFINED : rank;
}

bool Group::equals(const Group& other) const noexcept {
  if (size_ != other.size_) return false;
  if (shared_ == other.shared_ && range_.first == other.range_.first &&
      (range_.stride == other.range_.stride || size_ <= 1))
    return true;
  for (int rank = 0; rank < size_; ++rank)
    if (peer_index(rank) != other.peer_index(rank)) return false;
  return true;
}

size_t Group::runs() const noexcept {
  return shared_ == nullptr ? static_cast<size_t>(size_ > 0) : shared_->runs.size();
}

void GroupBuilder::add(uint32_t peer) {
  const int rank = size_++;
  if (!table_.empty()) return table_.push_back(peer);
  if (!runs_.empty()) {
    Group::Run& last = runs_.back();
    if (last.size == 1) last.stride = static_cast<int64_t>(peer) - last.first;
    if (last.size == 1 || last.first + last.size * last.stride == peer) {
      ++last.size;
      return;
    }
  }
  runs_.push_back({peer, 1, rank, 1});
  if (runs_.size() > Group::kMostRuns) spill();
}

void GroupBuilder::spill() {
  table_.reserve(static_cast<size_t>(size_) * 2);
  for (const Group::Run& run : runs_)
    for (int i = 0; i < run.size; ++i) table_.push_back(run.at(run.start + i));
  runs_.clear();
}

Ref<Group> GroupBuilder::finish() {
  if (size_ == 0) return Ref<Group>::adopt(new Group(0, 1, 0));
  if (runs_.size() == 1) {
    const Group::Run& run = runs_.front();
    return Ref<Group>::adopt(new Group(static_cast<uint32_t>(run.first), run.stride, run.size));
  }
  auto map = std::make_shared<Group::Map>();
  map->runs = std::move(runs_);
  map->table = std::move(table_);
  map->table.shrink_to_fit();
  map->by_peer.resize(map->table.size());
  std::iota(map->by_peer.begin(), map->by_peer.end(), 0);
  std::sort(map->by_peer.begin(), map->by_peer.end(), [&map](int a, int b) {
    return map->table[static_cast<size_t>(a)] < map->table[static_cast<size_t>(b)];
  });
  return Ref<Group>::adopt(new Group(std::move(map), size_));
}

namespace {

void add_where(GroupBuilder& builder, const Group& from, const Group& other, bool wanted) {
  for (int rank = 0; rank < from.size(); ++rank) {
    const uint32_t peer = from.peer_index(rank);
    if ((other.rank_of(peer) != MPI_UNDEFINED) == wanted) builder.add(peer);
  }
}

}  // namespace

Ref<Group> group_union(const Group& first, const Group& second) {
  GroupBuilder builder;
  for (int rank = 0; rank < first.size(); ++rank) builder.add(first.peer_index(rank));
  add_where(builder, second, first, false);
  return builder.finish();
}

Ref<Group> group_intersection(const Group& first, const Group& second) {
  GroupBuilder builder;
  add_where(builder, first, second, true);
  return builder.finish();
}

Ref<Group> group_difference(const Group& first, const Group& second) {
  GroupBuilder builder;
  add_where(builder, first, second, false);
  return builder.finish();
}

int group_compare(const Group& first, const Group& second) noexcept {
  if (first.size() != second.size()) return MPI_UNEQUAL;
  if (first.equals(second)) return MPI_IDENT;
  for (int rank = 0; rank < first.size(); ++rank)
    if (second.rank_of(first.peer_index(rank)) == MPI_UNDEFINED) return MPI_UNEQUAL;
  return MPI_SIMILAR;
}

void make_predefined_groups(Process& process) {
  process.handles.set_predefined(reinterpret_cast<uintptr_t>(MPI_GROUP_EMPTY), *new Group(0, 1, 0));
}

void end_predefined_groups(Process& process) noexcept {
  Group* empty = process.handles.find<Group>(MPI_GROUP_EMPTY);
  if (empty == nullptr) return;
  process.handles.erase(*empty);
  empty->release();
}

}  // namespace tern::core
