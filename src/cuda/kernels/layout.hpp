// SPDX-License-Identifier: Apache-2.0
// LayoutProgram: the layout of a datatype as kernels read it, and what a pack or unpack is given.
// Why: a tree of shared pointers cannot travel; this is one run of words, some 80 bytes for a
// vector, and no list for anything regular.
// Order: children are added before their parents.
// Lifetime: immutable once finished; shared by calls under way. Threads: const members from any.
// See: core/datatype_device.hpp (makes it), cuda/kernels/pack.cu (reads it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/kernels/arguments.hpp"

namespace tern::cuda {

/// By 1 or more.
[[nodiscard]] Divisor divisor(int64_t by) noexcept;

class LayoutProgram {
 public:
  using Node = int32_t;
  Node block(int64_t size);
  Node strided(int64_t count, int64_t stride, Node child);
  Node list(std::span<const int64_t> places, Node child);
  /// Block i holds the packed bytes starts[i] to starts[i + 1].
  Node blocks(std::span<const int64_t> places, std::span<const int64_t> starts);
  Node sequence(std::span<const int64_t> places, std::span<const int64_t> starts,
                std::span<const Node> parts);
  /// `origin`: of the root in an element; `extent`: from one element to the next.
  void finish(Node root, int64_t origin, int64_t extent);

  /// Packed bytes of one element.
  [[nodiscard]] int64_t size() const noexcept { return nodes_[static_cast<size_t>(root_)].size; }
  /// What must lie in device memory, unless inlined().
  [[nodiscard]] std::span<const uint64_t> image() const noexcept { return image_; }
  [[nodiscard]] bool inlined() const noexcept { return image_.size() <= kInlineWords; }
  /// The rows of a plain vector: one copy of rows does its work.
  struct Rows {
    int64_t origin, width, pitch;
  };
  /// False where `count` elements are no rows of one width and pitch.
  [[nodiscard]] bool rows(int64_t count, Rows* out) const noexcept;

  /// What tern_pack is given for the packed bytes [offset, offset + bytes) of elements at `buffer`,
  /// which go to, or come from, `packed`. `image`: where image() is, null where it is inlined.
  [[nodiscard]] PackArguments arguments(void* buffer, size_t offset, void* packed, size_t bytes,
                                        bool to_memory, const void* image) const noexcept;

 private:
  Node add(const LayoutNode& node);
  int64_t add_list(std::span<const int64_t> words);
  [[nodiscard]] int shift_for(uint64_t more_grain) const noexcept;

  std::vector<LayoutNode> nodes_;
  std::vector<int64_t> lists_;
  std::vector<uint64_t> image_;
  std::vector<int64_t> runs_;  // by node: blocks in it
  uint64_t grain_ = 0;         // all sizes, places and strides or'ed together
  Node root_ = 0;
  int64_t origin_ = 0, extent_ = 0;
  Node outer_ = 0;  // the root, or the child of a root that goes on from element to element
  int64_t step_ = 0;
};

}  // namespace tern::cuda
