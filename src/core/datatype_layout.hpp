// SPDX-License-Identifier: Apache-2.0
// Layout: the bytes of one element, as a small tree of regular forms.
// Why: packing needs few, tight loops, and a million equal blocks cost one number each.
// Order: packing order; only neighbours are merged. Nodes are immutable and shared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace tern::core {

class Layout;
using LayoutPtr = std::shared_ptr<const Layout>;

/// A layout at an offset; a null node holds no data.
struct PlacedLayout {
  int64_t at = 0;
  LayoutPtr node;
  [[nodiscard]] int64_t size() const noexcept;
};

class Layout {
 public:
  enum class LayoutForm : uint8_t {
    kBlock,    // `size` bytes in one piece
    kStrided,  // `count` times `child`, `stride` bytes apart
    kList,     // `child` at each of `places`
    kBlocks,   // blocks at `places`; block i holds the packed bytes starts[i] to starts[i + 1]
    kSequence,
  };
  LayoutForm form = LayoutForm::kBlock;
  int64_t size = 0;  // packed bytes, never 0
  int64_t low = 0;
  int64_t high = 0;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t span = 0;  // count * stride: offset of a copy that continues the pattern
  LayoutPtr child;
  std::vector<int64_t> places;
  std::vector<int64_t> starts;
  std::vector<LayoutPtr> parts;

  [[nodiscard]] bool block() const noexcept { return form == LayoutForm::kBlock; }
};

inline int64_t PlacedLayout::size() const noexcept { return node ? node->size : 0; }

[[noreturn]] void bytes_overflow(int64_t a, const char* operation, int64_t b);

/// Sums beyond 64 bits throw Error(MPI_ERR_COUNT).
[[nodiscard]] inline int64_t add_bytes(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    bytes_overflow(a, "+", b);
  return sum;
}
[[nodiscard]] inline int64_t multiply_bytes(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) [[unlikely]]
    bytes_overflow(a, "times", b);
  return product;
}

[[nodiscard]] PlacedLayout block_layout(int64_t bytes);
/// Returns the simplest form.
[[nodiscard]] PlacedLayout strided_layout(int64_t count, int64_t stride, const PlacedLayout& child);

class Assembly {
 public:
  void reserve(size_t parts);
  /// Ignores parts without data.
  void add(int64_t at, const PlacedLayout& part);
  void add_block(int64_t at, int64_t bytes) {
    if (!only_blocks_) return add_node(at, block_layout(bytes).node);
    const int64_t end = add_bytes(at, bytes);
    if (!places_.empty() && at == end_) {
      starts_.back() = add_bytes(starts_.back(), bytes);
    } else {
      places_.push_back(at);
      starts_.push_back(add_bytes(starts_.back(), bytes));
    }
    low_ = std::min(low_, at);
    high_ = std::max(high_, end_ = end);
  }
  [[nodiscard]] PlacedLayout finish();

 private:
  [[nodiscard]] int64_t length(size_t block) const noexcept {
    return starts_[block + 1] - starts_[block];
  }
  void add_node(int64_t at, const LayoutPtr& node);
  void to_nodes();
  [[nodiscard]] PlacedLayout finish_blocks();
  [[nodiscard]] PlacedLayout finish_nodes();

  bool only_blocks_ = true;
  std::vector<int64_t> places_;
  std::vector<int64_t> starts_{0};
  int64_t end_ = 0;
  int64_t low_ = std::numeric_limits<int64_t>::max();
  int64_t high_ = std::numeric_limits<int64_t>::min();
  std::vector<LayoutPtr> nodes_;
};

}  // namespace tern::core
