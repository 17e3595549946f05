// SPDX-License-Identifier: Apache-2.0
// Domains: the ranks of a communicator in groups of consecutive ranks. A group has about the square
// root of all ranks, and lies on a single NUMA node where all ranks are bound to nodes.
// Why: 192 ranks in a single level read 191 cache lines each. Through domains a leader reads 28.
// Lifetime: of a slab. Threads: immutable. See: coll/flat/two_level.hpp,
// tests/unit/coll/domains_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace tern::coll {

class Domains {
 public:
  static constexpr int kUnknown = -1;

  Domains() = default;
  /// Equal parts. No memory.
  explicit Domains(int ranks) noexcept;
  /// `nodes`: the NUMA node of each rank, or kUnknown. Equal parts where a node is unknown, or
  /// where nodes change from rank to rank. Throws std::bad_alloc.
  explicit Domains(const std::vector<int>& nodes);

  [[nodiscard]] int count() const noexcept { return count_; }
  /// The first rank of a domain; of count(): the number of ranks.
  [[nodiscard]] int first(int domain) const noexcept {
    if (firsts_ != nullptr) return firsts_[static_cast<size_t>(domain)];
    return static_cast<int>(int64_t{ranks_} * domain / count_);
  }
  /// The domain of a rank.
  [[nodiscard]] int of(int rank) const noexcept;

 private:
  int ranks_ = 0, count_ = 1;
  std::unique_ptr<int32_t[]> firsts_;  // null: equal parts
};

}  // namespace tern::coll
