// SPDX-License-Identifier: Apache-2.0
// Islands: groups of ranks or devices that all reach each other. Equal matrices give equal islands.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::topo {

class Reach {
 public:
  explicit Reach(int count)
      : count_(count), reaches_(static_cast<size_t>(count) * static_cast<size_t>(count), false) {}
  [[nodiscard]] int count() const noexcept { return count_; }
  void set(int from, int to, bool reaches) { reaches_[at(from, to)] = reaches; }
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

/// An island has the number of its lowest member. A member joins the first island with mutual
/// access to all.
[[nodiscard]] std::vector<int> islands_of(const Reach& reach);

}  // namespace tern::topo
