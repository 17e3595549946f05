// SPDX-License-Identifier: Apache-2.0
// TwoLevel: flat collectives of many ranks, through domains, with two or three epochs per piece.
// Up: ranks write for the domain's leader, which reduces. Between: leaders write for each other,
// the root, or, in a scan, all ranks. Down: leaders write for their domain. In a broadcast the root
// writes for leaders and the root's domain, then leaders for the others. Operands stay in rank
// order, and leaders reduce alike: equal bits on all ranks. Cost: at most 2 sqrt(p) slots read per
// rank. See: coll/flat/domains.hpp.
#pragma once

#include "coll/flat/domains.hpp"
#include "coll/flat/parts.hpp"

namespace tern::coll {

class TwoLevel final : public Parts {
 public:
  TwoLevel(const Operation& operation, Slots& slots) noexcept;

  [[nodiscard]] Sources sources(int64_t epoch) const noexcept override;
  [[nodiscard]] int source(int place) const noexcept override { return leader(place); }
  [[nodiscard]] bool writes(int64_t epoch) const noexcept override;
  [[nodiscard]] bool can_write(int64_t epoch, int64_t read) const noexcept override {
    return phase(epoch) == kUp || epoch <= read;
  }
  void reach() override;
  void write(int64_t epoch) override;
  void read(int64_t epoch) override;

 private:
  enum Phase : int64_t { kUp, kBetween, kDown };
  [[nodiscard]] Phase phase(int64_t epoch) const noexcept {
    return static_cast<Phase>(epoch % phases_);
  }
  [[nodiscard]] bool is_scan() const noexcept;
  /// The root in its domain; in a scan the last rank, the only reader of the whole domain.
  [[nodiscard]] int leader(int domain) const noexcept;
  /// In phase kUp a rank reads its domain's ranks before this end.
  [[nodiscard]] int end_of_up() const noexcept;
  /// In phase kBetween a rank reads the leaders of domains [0, end).
  [[nodiscard]] int end_of_between() const noexcept;
  /// Posts this rank's slot, poisoned after a failure.
  void hand_on(size_t bytes) noexcept;
  void write_for_domain(const ElementRange& range);
  void read_up(const ElementRange& range);
  void scan_up(const ElementRange& range);
  void read_between(const ElementRange& range);
  /// Reduces the sums of domains [0, end) in order; `onto`: *to is the last operand.
  void reduce_sums(int end, bool onto, const ElementRange& range, std::byte* to);
  [[nodiscard]] const std::byte* sum_of(int domain);

  [[nodiscard]] bool is_for_all() const noexcept { return phases_ > kDown; }

  const int64_t phases_;  // epochs per piece
  const Domains& domains_;
  const int own_, of_root_;
  const bool leads_;
};

}  // namespace tern::coll
