// SPDX-License-Identifier: Apache-2.0
// LayoutProgram: builds the image of nodes and lists, and finds the widest word that no block
// border cuts.
#include "cuda/kernels/layout.hpp"

#include <algorithm>
#include <cstring>

namespace tern::cuda {
namespace {

constexpr size_t kNodeWords = sizeof(LayoutNode) / sizeof(uint64_t);
static_assert(sizeof(LayoutNode) % sizeof(uint64_t) == 0);

uint64_t bits(int64_t number) noexcept { return static_cast<uint64_t>(number); }

}  // namespace

// With l = ceil(log2 d) and m = floor(2^(63+l) / d) + 1, n / d = n m / 2^(63+l) for n < 2^63: the
// error m d - 2^(63+l) is at most d <= 2^l (Granlund and Montgomery, 1994).
Divisor divisor(int64_t by) noexcept {
  if (by <= 1) return {0, 0};
  __extension__ typedef unsigned __int128 Wide;
  const int log = 64 - __builtin_clzll(bits(by) - 1);
  return {static_cast<uint64_t>((static_cast<Wide>(1) << (63 + log)) / bits(by) + 1), log - 1};
}

LayoutProgram::Node LayoutProgram::add(const LayoutNode& node) {
  grain_ |= bits(node.size);
  nodes_.push_back(node);
  return static_cast<Node>(nodes_.size()) - 1;
}

int64_t LayoutProgram::add_list(std::span<const int64_t> words) {
  const auto first = static_cast<int64_t>(lists_.size());
  lists_.insert(lists_.end(), words.begin(), words.end());
  return first;
}

LayoutProgram::Node LayoutProgram::block(int64_t size) {
  runs_.push_back(1);
  return add({LayoutNode::kBlock, 0, size, 0, 0, {}, 0, 0, 0});
}

LayoutProgram::Node LayoutProgram::strided(int64_t count, int64_t stride, Node child) {
  const int64_t size = nodes_[static_cast<size_t>(child)].size;
  runs_.push_back(count * runs_[static_cast<size_t>(child)]);
  grain_ |= bits(stride);
  return add({LayoutNode::kStrided, child, count * size, stride, count, divisor(size), 0, 0, 0});
}

LayoutProgram::Node LayoutProgram::list(std::span<const int64_t> places, Node child) {
  const int64_t size = nodes_[static_cast<size_t>(child)].size;
  const auto count = static_cast<int64_t>(places.size());
  runs_.push_back(count * runs_[static_cast<size_t>(child)]);
  for (const int64_t place : places) grain_ |= bits(place);
  return add(
      {LayoutNode::kList, child, count * size, 0, count, divisor(size), add_list(places), 0, 0});
}

LayoutProgram::Node LayoutProgram::blocks(std::span<const int64_t> places,
                                          std::span<const int64_t> starts) {
  const auto count = static_cast<int64_t>(places.size());
  runs_.push_back(count);
  for (const int64_t place : places) grain_ |= bits(place);
  for (const int64_t start : starts) grain_ |= bits(start);
  return add(
      {LayoutNode::kBlocks, 0, starts.back(), 0, count, {}, add_list(places), add_list(starts), 0});
}

LayoutProgram::Node LayoutProgram::sequence(std::span<const int64_t> places,
                                            std::span<const int64_t> starts,
                                            std::span<const Node> parts) {
  const auto count = static_cast<int64_t>(places.size());
  int64_t runs = 0;
  for (const Node part : parts) runs += runs_[static_cast<size_t>(part)];
  runs_.push_back(runs);
  for (const int64_t place : places) grain_ |= bits(place);
  const std::vector<int64_t> wide(parts.begin(), parts.end());
  return add({LayoutNode::kSequence,
              0,
              starts.back(),
              0,
              count,
              {},
              add_list(places),
              add_list(starts),
              add_list(wide)});
}

void LayoutProgram::finish(Node root, int64_t origin, int64_t extent) {
  root_ = outer_ = root;
  origin_ = origin;
  extent_ = step_ = extent;
  const LayoutNode& top = nodes_[static_cast<size_t>(root)];
  int64_t span;
  if (top.form == LayoutNode::kStrided && !__builtin_mul_overflow(top.count, top.stride, &span) &&
      span == extent) {
    outer_ = top.child;
    step_ = top.stride;
  }
  const size_t before = nodes_.size() * kNodeWords;
  for (LayoutNode& node : nodes_) {
    node.places += static_cast<int64_t>(before);
    node.starts += static_cast<int64_t>(before);
    node.parts += static_cast<int64_t>(before);
  }
  image_.resize(before + lists_.size());
  std::memcpy(image_.data(), nodes_.data(), before * sizeof(uint64_t));
  std::copy(lists_.begin(), lists_.end(), image_.begin() + static_cast<ptrdiff_t>(before));
  lists_ = {};
}

bool LayoutProgram::rows(int64_t count, Rows* out) const noexcept {
  const LayoutNode& top = nodes_[static_cast<size_t>(root_)];
  const LayoutNode& outer = nodes_[static_cast<size_t>(outer_)];
  if (outer.form == LayoutNode::kBlock) {
    *out = {origin_, outer.size, step_};
    return true;
  }
  if (count != 1 || top.form != LayoutNode::kStrided) return false;
  const LayoutNode& row = nodes_[static_cast<size_t>(top.child)];
  *out = {origin_, row.size, top.stride};
  return row.form == LayoutNode::kBlock;
}

/// For narrow words in long blocks, kernels copy 16 bytes at a time, run by run.
int LayoutProgram::shift_for(uint64_t more_grain) const noexcept {
  constexpr uint64_t kWidest = 16;
  constexpr int64_t kLongRun = 16;
  const int shift = __builtin_ctzll(grain_ | more_grain | kWidest);
  const int64_t mean = size() / runs_[static_cast<size_t>(root_)];
  return shift < 2 && mean >= kLongRun ? -1 : shift;
}

PackArguments LayoutProgram::arguments(void* buffer, size_t offset, void* packed, size_t bytes,
                                       bool to_memory, const void* image) const noexcept {
  PackArguments a{};
  const uintptr_t memory = reinterpret_cast<uintptr_t>(buffer) + bits(origin_);
  a.memory = reinterpret_cast<char*>(memory);
  a.packed = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(packed) - offset);
  a.image = static_cast<const uint64_t*>(image);
  a.begin = static_cast<int64_t>(offset);
  a.end = static_cast<int64_t>(offset + bytes);
  a.element = nodes_[static_cast<size_t>(outer_)].size;
  a.by_element = divisor(a.element);
  a.extent = step_;
  a.root = outer_;
  a.shift = shift_for(memory | bits(step_) | reinterpret_cast<uintptr_t>(a.packed));
  a.to_memory = to_memory ? 1 : 0;
  if (image == nullptr) std::copy(image_.begin(), image_.end(), a.inline_image);
  return a;
}

}  // namespace tern::cuda
