// SPDX-License-Identifier: Apache-2.0
// Symmetry of a row: the schedule of a rank is another rank's, with renamed ranks and blocks. Tests
// prove each row's trait for every shape up to 128 ranks (tests/unit/coll/classes_test.cc).
//   kRotates: ranks turn by an even distance. kRotatesPowers: so, on a power of two of ranks.
//   kXors: a power of two of ranks; all ranks flip the same bits, an even number.
//   kSlices: equal hosts of consecutive ranks; hosts flip bits as above (a power of two of hosts)
//   or turn; the ranks of each host turn.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

class Symmetry {
 public:
  [[nodiscard]] static Symmetry of(const Algorithm& row, int32_t ranks, const Levels* levels) {
    Symmetry made(ranks);
    const auto has = [&](Trait trait) { return (row.traits & trait) != 0; };
    if (has(kRotates) || (has(kRotatesPowers) && power(ranks)))
      made.host_ = 1, made.kind_ = Kind::kTurns;
    if (has(kXors) && power(ranks)) made.host_ = 1, made.kind_ = Kind::kFlips;
    if (has(kSlices) && levels != nullptr && levels->equal_hosts() && levels->hosts_in_order()) {
      made.host_ = static_cast<int32_t>(levels->host_of(0).size());
      made.kind_ = power(ranks / made.host_) ? Kind::kFlips : Kind::kTurns;
    }
    return made;
  }

  /// The rank with the schedule to be renamed; the rank itself without a symmetry.
  [[nodiscard]] int32_t like(int32_t rank) const noexcept {
    const auto host = static_cast<uint32_t>(rank / host_);
    if (kind_ == Kind::kNone) return rank;
    if (kind_ == Kind::kTurns) return host_ == 1 && ranks_ % 2 == 0 ? rank % 2 : 0;
    return std::popcount(host) % 2 * host_;
  }
  /// The name of `peer` after the change that makes `from` into `to`.
  [[nodiscard]] int32_t renamed(int32_t from, int32_t to, int32_t peer) const noexcept {
    const int32_t hosts = ranks_ / host_, a = from / host_, b = to / host_, c = peer / host_;
    const int32_t host = kind_ == Kind::kFlips ? a ^ b ^ c : (c + b - a + hosts) % hosts;
    const int32_t place = (peer % host_ + to % host_ - from % host_ + host_) % host_;
    return host * host_ + place;
  }

  [[nodiscard]] int32_t host() const noexcept { return host_; }
  /// Calls visit(low, high) for the names of ranks [low, high) after this change, range by range.
  template <class Visit>
  void for_each_range(int32_t from, int32_t to, int32_t low, int32_t high,
                      const Visit& visit) const {
    for (; low < high && low % host_ != 0; ++low) visit_one(from, to, low, visit);
    const int32_t whole = high / host_;
    if (low / host_ < whole) hosts(from, to, low / host_, whole, visit);
    for (low = std::max(low, whole * host_); low < high; ++low) visit_one(from, to, low, visit);
  }

 private:
  template <class Visit>
  void visit_one(int32_t from, int32_t to, int32_t rank, const Visit& visit) const {
    const int32_t name = renamed(from, to, rank);
    visit(name, name + 1);
  }
  // Flips keep aligned powers of two of hosts together; turns keep all but a wrap.
  template <class Visit>
  void hosts(int32_t from, int32_t to, int32_t low, int32_t high, const Visit& visit) const {
    while (low < high) {
      int32_t count = high - low;
      const int32_t first = renamed(from / host_ * host_, to / host_ * host_, low * host_) / host_;
      if (kind_ == Kind::kFlips) {
        const int32_t aligned = low == 0 ? 1 << 30 : low & -low;
        while (count > aligned || (count & (count - 1)) != 0)
          count =
              std::min(aligned, static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(count))));
        const int32_t begin = first & ~(count - 1);
        visit(begin * host_, (begin + count) * host_);
      } else {
        count = std::min(count, ranks_ / host_ - first);
        visit(first * host_, (first + count) * host_);
      }
      low += count;
    }
  }

  enum class Kind : uint8_t { kNone, kTurns, kFlips };
  explicit Symmetry(int32_t ranks) noexcept : ranks_(ranks) {}
  [[nodiscard]] static bool power(int32_t n) noexcept {
    return std::has_single_bit(static_cast<uint32_t>(n));
  }

  int32_t ranks_;
  int32_t host_ = 1;  // ranks of a host
  Kind kind_ = Kind::kNone;
};

}  // namespace tern::coll
