// SPDX-License-Identifier: Apache-2.0
// Islands: groups of ranks or devices that all reach each other. Equal matrices give equal islands.
// Why: if some pairs of GPUs have no access to each other's memory, the others work together first.
// Threads: any. See: coll/flat/on_device.hpp, tern_info.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::topo {

/// Access between `count` ranks or devices.
class Reach {
 public:
  explicit Reach(int count)
      : count_(count), reaches_(static_cast<size_t>(count) * static_cast<size_t>(count), false) {}
  [[nodiscard]] int count() const noexcept { return count_; }
  void set(int from, int to, bool reaches) { reaches_[at(from, to)] = reaches; }
  /// Mutual access; true for a rank and itself.
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

/// For each number, the lowest number of its island. Each joins the first island with mutual access
/// to all members.
[[nodiscard]] std::vector<int> islands_of(const Reach& reach);

}  // namespace tern::topo
