// SPDX-License-Identifier: Apache-2.0
// Symmetry of a row: the schedule of a rank is another rank's, with renamed ranks and blocks. Tests
// prove each row's trait for every shape up to 128 ranks (tests/unit/coll/classes_test.cc).
//   kRotates: ranks turn by an even distance.
//   kXors: a power of two of ranks; all ranks flip the same bits, an even number.
//   kSlices: equal hosts of consecutive ranks; hosts flip bits as above (a power of two of hosts)
//   or turn; the ranks of each host turn.
#pragma once

#include <bit>
#include <cstdint>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

class Symmetry {
 public:
  [[nodiscard]] static Symmetry of(const Algorithm& row, int32_t ranks, const Levels* levels) {
    Symmetry made(ranks);
    const auto has = [&](Trait trait) { return (row.traits & trait) != 0; };
    if (has(kRotates)) made.host_ = 1, made.kind_ = Kind::kTurns;
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

 private:
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
