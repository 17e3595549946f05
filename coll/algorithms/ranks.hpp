// SPDX-License-Identifier: Apache-2.0
// Rank arithmetic of algorithms.
#pragma once

#include <cstdint>

namespace tern::coll {

[[nodiscard]] constexpr int32_t floor_power(int32_t n) noexcept {
  int32_t power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// low_bit() is the lowest set bit; for 0 the smallest power of two >= `ranks`.
[[nodiscard]] constexpr int32_t low_bit(int32_t number, int32_t ranks) noexcept {
  if (number != 0) return number & -number;
  int32_t power = 1;
  while (power < ranks) power *= 2;
  return power;
}

/// Binomial: a tree in which node v (root: 0) has children v + 1, v + 2, v + 4, ... below v's
/// lowest set bit, each with `width` consecutive nodes.
struct Binomial {
  int32_t ranks, node;
  [[nodiscard]] constexpr int32_t reach() const noexcept { return low_bit(node, ranks); }
  [[nodiscard]] constexpr int32_t parent() const noexcept { return node - reach(); }
  [[nodiscard]] constexpr int32_t width(int32_t step) const noexcept {
    return step < ranks - node - step ? step : ranks - node - step;
  }
  [[nodiscard]] constexpr int32_t subtree() const noexcept {
    return reach() < ranks - node ? reach() : ranks - node;
  }
};

/// Fold maps any rank count to a power of two. The first 2 * extra ranks form pairs: the even rank
/// sends a part of its vector and receives the result; other ranks stay single. `team`: ranks index
/// this ascending list.
struct Fold {
  int32_t ranks, rank;
  const int32_t* team = nullptr;
  [[nodiscard]] constexpr int32_t size() const noexcept { return floor_power(ranks); }
  [[nodiscard]] constexpr int32_t extra() const noexcept { return ranks - size(); }
  [[nodiscard]] constexpr bool paired() const noexcept { return rank < 2 * extra(); }
  [[nodiscard]] constexpr bool idle() const noexcept { return paired() && rank % 2 == 0; }
  [[nodiscard]] constexpr int32_t number() const noexcept {
    return paired() ? rank / 2 : rank - extra();
  }
  [[nodiscard]] constexpr int32_t rank_of(int32_t number) const noexcept {
    return named(number < extra() ? 2 * number + 1 : number + extra());
  }
  [[nodiscard]] constexpr int32_t mate() const noexcept {
    return named(idle() ? rank + 1 : rank - 1);
  }
  [[nodiscard]] constexpr int32_t ranks_before(int32_t number) const noexcept {
    return number < extra() ? 2 * number : number + extra();
  }

 private:
  [[nodiscard]] constexpr int32_t named(int32_t place) const noexcept {
    return team == nullptr ? place : team[place];
  }
};

}  // namespace tern::coll
