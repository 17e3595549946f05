// SPDX-License-Identifier: Apache-2.0
#include "core/datatype_order.hpp"

#include <algorithm>
#include <limits>

namespace tern::core {
namespace {

/// The blocks visited so far: `first` and `last` are begins of blocks, `end` is the highest end.
struct Visited {
  LayoutOrder order;
  int64_t first = 0, last = 0, end = 0;
};

class Sequence {
 public:
  void add(int64_t at, const Visited& part) noexcept {
    const int64_t first = at + part.first;
    all_.order.falls |= part.order.falls || (any_ && first < all_.last);
    all_.order.overlaps |= part.order.overlaps || (any_ && first < all_.end);
    all_.order.bits |= static_cast<uint64_t>(at) | part.order.bits;
    all_.order.blocks += part.order.blocks;
    if (!any_) all_.first = first;
    all_.last = at + part.last;
    all_.end = any_ ? std::max(all_.end, at + part.end) : at + part.end;
    any_ = true;
  }
  [[nodiscard]] const Visited& result() const noexcept { return all_; }

 private:
  Visited all_;
  bool any_ = false;
};

Visited block_of(int64_t bytes) noexcept {
  Visited block;
  block.order.blocks = 1;
  block.order.bits = static_cast<uint64_t>(bytes);
  block.end = bytes;
  return block;
}

Visited copies_of(const Visited& one, int64_t count, int64_t stride) noexcept {
  Visited all = one;
  if (count < 2) return all;
  all.order.falls |= one.first + stride < one.last;
  all.order.overlaps |= one.first + stride < one.end;
  all.order.bits |= static_cast<uint64_t>(stride);
  all.order.blocks = one.order.blocks * count;
  const int64_t distance = stride * (count - 1);
  all.last = one.last + distance;
  all.end = std::max(one.end, one.end + distance);
  return all;
}

Visited visit(const Layout& node) noexcept {
  switch (node.form) {
    case Layout::LayoutForm::kBlock:
      return block_of(node.size);
    case Layout::LayoutForm::kStrided:
      return copies_of(visit(*node.child), node.count, node.stride);
    default:
      break;
  }
  Sequence all;
  const Visited child = node.child ? visit(*node.child) : Visited{};
  for (size_t i = 0; i < node.places.size(); ++i) {
    if (node.form == Layout::LayoutForm::kList)
      all.add(node.places[i], child);
    else if (node.form == Layout::LayoutForm::kBlocks)
      all.add(node.places[i], block_of(node.starts[i + 1] - node.starts[i]));
    else
      all.add(node.places[i], visit(*node.parts[i]));
  }
  return all.result();
}

int64_t before(const Layout& node, int64_t at) noexcept;

/// Copies rise: all copies in front of the copy that may contain `at` lie before `at`.
int64_t before_in_copies(const Layout& child, int64_t count, int64_t stride, int64_t at) noexcept {
  if (at <= child.low) return 0;
  const int64_t copy = stride <= 0 ? 0 : std::min(count - 1, (at - child.low) / stride);
  return copy * child.size + before(child, at - copy * stride);
}

int64_t before(const Layout& node, int64_t at) noexcept {
  if (node.form == Layout::LayoutForm::kBlock) return std::clamp(at, int64_t{0}, node.size);
  if (node.form == Layout::LayoutForm::kStrided)
    return before_in_copies(*node.child, node.count, node.stride, at);
  // The last part that begins before `at`; a part's lowest byte is at its place plus its low.
  const auto low_of = [&](size_t i) {
    const Layout* const part =
        node.form == Layout::LayoutForm::kSequence ? node.parts[i].get() : node.child.get();
    return node.places[i] + (part == nullptr ? 0 : part->low);
  };
  size_t first = 0, last = node.places.size();
  while (first < last) {
    const size_t middle = (first + last) / 2;
    if (low_of(middle) < at)
      first = middle + 1;
    else
      last = middle;
  }
  if (first == 0) return 0;
  const size_t part = first - 1;
  const int64_t within = at - node.places[part];
  switch (node.form) {
    case Layout::LayoutForm::kList:
      return static_cast<int64_t>(part) * node.child->size + before(*node.child, within);
    case Layout::LayoutForm::kBlocks:
      return std::min(node.starts[part] + within, node.starts[part + 1]);
    default:
      return node.starts[part] + before(*node.parts[part], within);
  }
}

}  // namespace

LayoutOrder order_of(const PlacedLayout& layout) noexcept {
  if (!layout.node) return {};
  Sequence placed;
  placed.add(layout.at, visit(*layout.node));
  return placed.result().order;
}

LayoutOrder order_of_copies(const PlacedLayout& layout, int64_t extent) noexcept {
  if (!layout.node) return {};
  Sequence placed;
  placed.add(layout.at, visit(*layout.node));
  LayoutOrder many = copies_of(placed.result(), 2, extent).order;
  many.blocks /= 2;
  return many;
}

int64_t packed_before(const PlacedLayout& layout, int64_t at) noexcept {
  return layout.node ? before(*layout.node, at - layout.at) : 0;
}

}  // namespace tern::core
