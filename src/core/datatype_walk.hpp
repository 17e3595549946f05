// SPDX-License-Identifier: Apache-2.0
// Walk: visits the memory of a range of packed bytes in packing order, in runs as regular as
// possible.
//  A Visitor has: full() (stops early), run(at, bytes), strided(at, stride, block, count), grid(at,
//  rows, row_stride, count, stride, block), listed(origin, places, count, block), blocks(origin,
//  places, starts, count), records(at, stride, count, places, starts, blocks). Addresses are
//  integers: MPI_BOTTOM is 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/datatype_layout.hpp"

namespace tern::core {

template <class Visitor>
class Walk {
 public:
  explicit Walk(Visitor& visitor) noexcept : visitor_(visitor) {}

  void range(const Layout& node, uintptr_t origin, int64_t from, int64_t to) noexcept {
    if (from >= to || visitor_.full()) return;
    switch (node.form) {
      case Layout::LayoutForm::kBlock:
        visitor_.run(origin + static_cast<uintptr_t>(from), to - from);
        break;
      case Layout::LayoutForm::kStrided:
        strided(node.count, node.stride, *node.child, origin, from, to);
        break;
      case Layout::LayoutForm::kList:
        list(node, origin, from, to);
        break;
      case Layout::LayoutForm::kBlocks:
        blocks(node, origin, from, to);
        break;
      case Layout::LayoutForm::kSequence:
        sequence(node, origin, from, to);
        break;
    }
  }

  void strided(int64_t count, int64_t stride, const Layout& child, uintptr_t origin, int64_t from,
               int64_t to) noexcept {
    if (child.form == Layout::LayoutForm::kStrided && stride == child.span)
      return strided(count * child.count, child.stride, *child.child, origin, from, to);
    const auto place = [&](int64_t i) { return origin + static_cast<uintptr_t>(i * stride); };
    equal_parts(child, from, to, place, [&](int64_t first, int64_t whole) {
      strided_whole(child, place(first), stride, whole);
    });
  }

 private:
  template <class Place, class Whole>
  void equal_parts(const Layout& child, int64_t from, int64_t to, Place place,
                   Whole whole) noexcept {
    int64_t i = from / child.size;
    const int64_t within = from - i * child.size;
    if (within != 0) {
      const int64_t end = std::min(child.size, within + to - from);
      range(child, place(i), within, end);
      from += end - within;
      ++i;
    }
    const int64_t parts = (to - from) / child.size;
    if (parts > 0) whole(i, parts);
    range(child, place(i + parts), 0, to - from - parts * child.size);
  }

  void strided_whole(const Layout& child, uintptr_t at, int64_t stride, int64_t count) noexcept {
    if (child.block()) return visitor_.strided(at, stride, child.size, count);
    if (child.form == Layout::LayoutForm::kStrided && child.child->block())
      return visitor_.grid(at, count, stride, child.count, child.stride, child.child->size);
    if (child.form == Layout::LayoutForm::kBlocks && child.places.size() <= kFewBlocks)
      return visitor_.records(at, stride, count, child.places.data(), child.starts.data(),
                              static_cast<int64_t>(child.places.size()));
    for (int64_t i = 0; i < count && !visitor_.full(); ++i)
      range(child, at + static_cast<uintptr_t>(i * stride), 0, child.size);
  }

  void list(const Layout& node, uintptr_t origin, int64_t from, int64_t to) noexcept {
    const Layout& child = *node.child;
    const auto place = [&](int64_t i) {
      return i < node.count ? origin + static_cast<uintptr_t>(node.places[static_cast<size_t>(i)])
                            : origin;
    };
    equal_parts(child, from, to, place, [&](int64_t first, int64_t whole) {
      const int64_t* places = node.places.data() + first;
      if (child.block()) return visitor_.listed(origin, places, whole, child.size);
      for (int64_t i = 0; i < whole && !visitor_.full(); ++i)
        range(child, origin + static_cast<uintptr_t>(places[i]), 0, child.size);
    });
  }

  static size_t part_of(const Layout& node, int64_t byte) noexcept {
    const auto next = std::upper_bound(node.starts.begin(), node.starts.end(), byte);
    return static_cast<size_t>(next - node.starts.begin()) - 1;
  }

  void blocks(const Layout& node, uintptr_t origin, int64_t from, int64_t to) noexcept {
    size_t first = part_of(node, from);
    size_t last = to == node.size ? node.places.size() : part_of(node, to);
    const auto partial = [&](size_t i, int64_t begin, int64_t end) {
      if (begin < end)
        visitor_.run(origin + static_cast<uintptr_t>(node.places[i] + begin), end - begin);
    };
    if (from != node.starts[first]) {
      partial(first, from - node.starts[first],
              std::min(to, node.starts[first + 1]) - node.starts[first]);
      if (to <= node.starts[++first]) return;
    }
    if (last > first)
      visitor_.blocks(origin, node.places.data() + first, node.starts.data() + first,
                      static_cast<int64_t>(last - first));
    if (last < node.places.size()) partial(last, 0, to - node.starts[last]);
  }

  void sequence(const Layout& node, uintptr_t origin, int64_t from, int64_t to) noexcept {
    for (size_t i = part_of(node, from); i < node.places.size() && from < to; ++i) {
      const int64_t end = std::min(to, node.starts[i + 1]);
      range(*node.parts[i], origin + static_cast<uintptr_t>(node.places[i]), from - node.starts[i],
            end - node.starts[i]);
      from = end;
    }
  }

  static constexpr size_t kFewBlocks = 16;
  Visitor& visitor_;
};

}  // namespace tern::core
