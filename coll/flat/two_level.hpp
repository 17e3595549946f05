// SPDX-License-Identifier: Apache-2.0
// TwoLevel: flat collectives of many ranks, through domains. Each piece takes two or three epochs.
// Up: ranks write for the leader of their domain; the leader reduces. Between: leaders write for
// each other, for the root, or, in a scan, for all. Down: leaders write the result for their
// domain. A broadcast has two epochs: the root writes for the leaders and for its own domain, then
// leaders write for theirs.
// Why: in a single level each rank reads a cache line of every other rank, and p - 1 ranks read
// each line.
// Order: domains are of consecutive ranks, so operands stay in the order of ranks. All leaders
// reduce the same sums alike: the same bits everywhere.
// Cost: 3 epochs; a rank reads 2 sqrt(p) slots at most. Lifetime: of a call. Threads: under the
// channel's lock. See: coll/flat/README.md, coll/flat/domains.hpp.
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
  /// Of the root's domain: the root. Of a scan: the last rank, the only reader of a whole domain.
  [[nodiscard]] int leader(int domain) const noexcept;
  /// On the way up a rank reads the ranks from the first of its domain to this, except itself.
  [[nodiscard]] int end_of_up() const noexcept;
  /// Between, a rank reads the leaders of domains [0, end), except itself.
  [[nodiscard]] int end_of_between() const noexcept;
  /// Posts; poisoned after a failure.
  void hand_on(size_t bytes) noexcept;
  void write_for_domain(const Range& range);
  void read_up(const Range& range);
  void scan_up(const Range& range);
  void read_between(const Range& range);
  /// to = the sums of domains [0, end) reduced in order; `onto`: with *to as the last operand.
  void reduce_sums(int end, bool onto, const Range& range, std::byte* to);
  [[nodiscard]] const std::byte* sum_of(int domain);

  [[nodiscard]] bool is_for_all() const noexcept { return phases_ > kDown; }

  const int64_t phases_;  // of a piece
  const Domains& domains_;
  const int own_, of_root_;  // domains
  const bool leads_;
};

}  // namespace tern::coll
