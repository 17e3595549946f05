// SPDX-License-Identifier: Apache-2.0
// Islands: groups in which all reach each other, found alike by all who have the same matrix.
// Why: where some pairs of GPUs do not reach each other's memory, those that do work together
// first. Threads: any. See: coll/flat/on_device.hpp, tern_info.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::topo {

/// Who reaches whom: of `count` ranks or devices.
class Reach {
 public:
  explicit Reach(int count)
      : count_(count), reaches_(static_cast<size_t>(count) * static_cast<size_t>(count), false) {}
  [[nodiscard]] int count() const noexcept { return count_; }
  void set(int from, int to, bool reaches) { reaches_[at(from, to)] = reaches; }
  /// There and back; each reaches itself.
  [[nodiscard]] bool both_ways(int one, int other) const {
    return one == other || (reaches_[at(one, other)] && reaches_[at(other, one)]);
  }

 private:
  [[nodiscard]] size_t at(int from, int to) const noexcept {
    return static_cast<size_t>(from) * static_cast<size_t>(count_) + static_cast<size_t>(to);
  }
  int count_;
  std::vector<bool> reaches_;
};

/// By number the lowest number of its island: each joins the first whose members all reach it.
[[nodiscard]] std::vector<int> islands_of(const Reach& reach);

}  // namespace tern::topo
