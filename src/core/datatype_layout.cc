// SPDX-License-Identifier: Apache-2.0
// Layout: reduces a type to its simplest form.
#include "core/datatype_layout.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::core {
namespace {

using LayoutForm = Layout::LayoutForm;
constexpr size_t kFewBlocks = 16;  // fewer blocks form a record, with special loops

bool evenly_spaced(const std::vector<int64_t>& places, int64_t* stride) {
  if (places.size() < 2) return false;
  *stride = places[1] - places[0];
  for (size_t i = 2; i < places.size(); ++i)
    if (places[i] - places[i - 1] != *stride) return false;
  return true;
}

void set_bounds(Layout& node, const LayoutPtr& child) {
  const auto [least, most] = std::minmax_element(node.places.begin(), node.places.end());
  node.low = add_bytes(*least, child->low);
  node.high = add_bytes(*most, child->high);
}

PlacedLayout list_layout(std::vector<int64_t> places, LayoutPtr child) {
  int64_t stride = 0;
  if (evenly_spaced(places, &stride)) {
    PlacedLayout placed = strided_layout(static_cast<int64_t>(places.size()), stride, {0, child});
    placed.at += places[0];
    return placed;
  }
  auto node = std::make_shared<Layout>();
  node->form = LayoutForm::kList;
  node->count = static_cast<int64_t>(places.size());
  node->size = multiply_bytes(node->count, child->size);
  node->places = std::move(places);
  set_bounds(*node, child);
  node->child = std::move(child);
  return {0, node};
}

int64_t common_unit(const std::vector<int64_t>& numbers) noexcept {
  constexpr int64_t kMost = 64;
  int64_t bits = kMost;
  for (const int64_t number : numbers) bits |= number;
  return bits & -bits;
}

std::vector<int64_t> cut(const std::vector<int64_t>& places, const std::vector<int64_t>& starts,
                         int64_t unit) {
  std::vector<int64_t> units;
  units.reserve(static_cast<size_t>(starts.back() / unit));
  for (size_t i = 0; i < places.size(); ++i)
    for (int64_t at = 0; at < starts[i + 1] - starts[i]; at += unit)
      units.push_back(places[i] + at);
  return units;
}

}  // namespace

void bytes_overflow(int64_t a, const char* operation, int64_t b) {
  throw Error(MPI_ERR_COUNT, strf("the datatype is too large: %lld %s %lld bytes is beyond 64 bits",
                                  static_cast<long long>(a), operation, static_cast<long long>(b)));
}

PlacedLayout block_layout(int64_t bytes) {
  if (bytes == 0) return {};
  auto node = std::make_shared<Layout>();
  node->size = bytes;
  node->high = bytes;
  return {0, node};
}

PlacedLayout strided_layout(int64_t count, int64_t stride, const PlacedLayout& child) {
  if (count == 0 || !child.node) return {};
  if (count == 1) return child;
  const Layout& inner = *child.node;
  const int64_t size = multiply_bytes(count, inner.size);
  const int64_t last = multiply_bytes(count - 1, stride);
  if (inner.block() && stride == inner.size) {
    PlacedLayout placed = block_layout(size);
    placed.at = child.at;
    return placed;
  }
  if (inner.form == LayoutForm::kStrided && stride == inner.span) {
    PlacedLayout placed = strided_layout(count * inner.count, inner.stride, {0, inner.child});
    placed.at += child.at;
    return placed;
  }
  auto node = std::make_shared<Layout>();
  node->form = LayoutForm::kStrided;
  node->size = size;
  node->count = count;
  node->stride = stride;
  if (__builtin_mul_overflow(count, stride, &node->span)) node->span = 0;
  node->child = child.node;
  node->low = add_bytes(inner.low, std::min<int64_t>(0, last));
  node->high = add_bytes(inner.high, std::max<int64_t>(0, last));
  return {child.at, node};
}

void Assembly::reserve(size_t parts) {
  places_.reserve(parts);
  starts_.reserve(parts + 1);
}

void Assembly::add(int64_t at, const PlacedLayout& part) {
  if (!part.node) return;
  const int64_t origin = add_bytes(at, part.at);
  const Layout& node = *part.node;
  if (only_blocks_ && node.block()) return add_block(origin, node.size);
  if (only_blocks_ && node.form == LayoutForm::kBlocks) {
    for (size_t i = 0; i < node.places.size(); ++i)
      add_block(add_bytes(origin, node.places[i]), node.starts[i + 1] - node.starts[i]);
    return;
  }
  to_nodes();
  if (node.form == LayoutForm::kSequence) {
    for (size_t i = 0; i < node.places.size(); ++i)
      add_node(add_bytes(origin, node.places[i]), node.parts[i]);
    return;
  }
  add_node(origin, part.node);
}

void Assembly::add_node(int64_t at, const LayoutPtr& node) {
  if (node->block() && !nodes_.empty() && nodes_.back()->block() &&
      places_.back() + nodes_.back()->size == at) {
    nodes_.back() = block_layout(add_bytes(nodes_.back()->size, node->size)).node;
    return;
  }
  places_.push_back(at);
  nodes_.push_back(node);
}

void Assembly::to_nodes() {
  if (!only_blocks_) return;
  only_blocks_ = false;
  nodes_.reserve(places_.capacity());
  for (size_t i = 0; i < places_.size(); ++i) nodes_.push_back(block_layout(length(i)).node);
}

PlacedLayout Assembly::finish() {
  if (places_.empty()) return {};
  return only_blocks_ ? finish_blocks() : finish_nodes();
}

PlacedLayout Assembly::finish_blocks() {
  const int64_t first = starts_[1];
  if (places_.size() == 1) return {places_[0], block_layout(first).node};
  size_t equal = 1;
  while (equal < places_.size() && length(equal) == first) ++equal;
  if (equal == places_.size()) return list_layout(std::move(places_), block_layout(first).node);
  // Some blocks are adjacent, so equal units avoid branches.
  const int64_t unit = common_unit(starts_);
  if (places_.size() > kFewBlocks &&
      starts_.back() / unit <= 2 * static_cast<int64_t>(places_.size()))
    return list_layout(cut(places_, starts_, unit), block_layout(unit).node);
  auto node = std::make_shared<Layout>();
  node->form = LayoutForm::kBlocks;
  node->low = low_;
  node->high = high_;
  node->size = starts_.back();
  node->starts = std::move(starts_);
  node->places = std::move(places_);
  return {0, node};
}

PlacedLayout Assembly::finish_nodes() {
  if (places_.size() == 1) return {places_[0], nodes_[0]};
  if (std::all_of(nodes_.begin(), nodes_.end(), [&](const LayoutPtr& n) { return n == nodes_[0]; }))
    return list_layout(std::move(places_), nodes_[0]);
  auto node = std::make_shared<Layout>();
  node->form = LayoutForm::kSequence;
  node->low = std::numeric_limits<int64_t>::max();
  node->high = std::numeric_limits<int64_t>::min();
  node->starts.push_back(0);
  for (size_t i = 0; i < places_.size(); ++i) {
    node->low = std::min(node->low, add_bytes(places_[i], nodes_[i]->low));
    node->high = std::max(node->high, add_bytes(places_[i], nodes_[i]->high));
    node->starts.push_back(add_bytes(node->starts.back(), nodes_[i]->size));
  }
  node->size = node->starts.back();
  node->places = std::move(places_);
  node->parts = std::move(nodes_);
  return {0, node};
}

}  // namespace tern::core
