// SPDX-License-Identifier: Apache-2.0
// LayoutProgram: the layout of a datatype for kernels, and the arguments of pack and unpack.
// Why: kernels cannot follow a tree of shared pointers. An image is contiguous, some 80 bytes for a
// vector, and needs lists only for irregular types.
// Order: children are added before their parents.
// Lifetime: immutable once finished; shared by pending calls. Threads: any for const members.
// See: core/datatype_device.hpp (builds programs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/kernels/arguments.hpp"

namespace tern::cuda {

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
  /// `origin`: of the root in an element; `extent`: between elements.
  void finish(Node root, int64_t origin, int64_t extent);

  [[nodiscard]] int64_t size() const noexcept { return nodes_[static_cast<size_t>(root_)].size; }
  [[nodiscard]] std::span<const uint64_t> image() const noexcept { return image_; }
  [[nodiscard]] bool inlined() const noexcept { return image_.size() <= kInlineWords; }
  struct Rows {
    int64_t origin, width, pitch;
  };
  [[nodiscard]] bool rows(int64_t count, Rows* out) const noexcept;

  /// `image` is the device address of image(); null inlines the image.
  [[nodiscard]] PackArguments arguments(void* buffer, size_t offset, void* packed, size_t bytes,
                                        bool to_memory, const void* image) const noexcept;

 private:
  Node add(const LayoutNode& node);
  int64_t add_list(std::span<const int64_t> words);
  [[nodiscard]] int shift_for(uint64_t more_grain) const noexcept;

  std::vector<LayoutNode> nodes_;
  std::vector<int64_t> lists_;
  std::vector<uint64_t> image_;
  std::vector<int64_t> runs_;
  uint64_t grain_ = 0;
  Node root_ = 0;
  int64_t origin_ = 0, extent_ = 0;
  Node outer_ = 0;  // the root, or the root's child if the root's stride continues across elements
  int64_t step_ = 0;
};

}  // namespace tern::cuda
