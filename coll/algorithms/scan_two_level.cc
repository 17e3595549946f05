// SPDX-License-Identifier: Apache-2.0
// Two-level scan and exscan: each host scans by recursive doubling; the hosts' last ranks scan the
// hosts' sums, then distribute the preceding hosts' sum, which their ranks prepend. Operands stay
// in rank order, so hosts must hold consecutive ranks.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

constexpr Slice kReceived{Space::kStage, 0, 1, 0}, kSum{Space::kStage, 0, 1, 1},
    kBefore{Space::kStage, 0, 1, 2};

struct Row {
  std::vector<int32_t> ranks;
  int32_t mine;
  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(ranks.size()); }
  [[nodiscard]] int32_t rank(int32_t number) const { return ranks[static_cast<size_t>(number)]; }
  [[nodiscard]] bool last() const noexcept { return mine + 1 == size(); }
};

Row row_of(std::vector<int32_t> ranks, int32_t rank) {
  const auto mine = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
  return {std::move(ranks), static_cast<int32_t>(mine)};
}

/// In double_up() `sum` becomes the sum up to and including this rank, if others need the sum
/// (`keep`: always). `before`, unless null, becomes the sum of preceding ranks.
void double_up(Builder& b, const Row& row, const Slice& sum, bool keep, const Slice* before) {
  for (int32_t distance = 1; distance < row.size(); distance *= 2) {
    if (row.mine + distance < row.size()) b.send(row.rank(row.mine + distance), sum);
    if (row.mine < distance) continue;
    b.recv(row.rank(row.mine - distance), kReceived);
    if (before != nullptr && distance == 1) b.copy(kReceived, *before);
    if (before != nullptr && distance > 1) b.reduce(kReceived, *before, *before);
    if (keep || row.mine + 2 * distance < row.size()) b.reduce(kReceived, sum, sum);
  }
}

void hand_down_host(Builder& b, const Row& host) {
  const auto rank_at = [&](int32_t node) { return host.rank(host.size() - 1 - node); };
  const int32_t node = host.size() - 1 - host.mine;
  const Binomial tree{host.size(), node};
  if (node != 0) b.recv(rank_at(tree.parent()), kBefore);
  for (int32_t step = tree.reach() / 2; step > 0; step /= 2)
    if (node + step < host.size()) b.send(rank_at(node + step), kBefore);
}

void two_level(Builder& b, bool inclusive) {
  const Slice output = Builder::output();
  const Row host = row_of(b.levels()->host_of(b.rank()), b.rank());
  std::vector<int32_t> ends;
  for (const int32_t leader : b.levels()->leaders())
    ends.push_back(b.levels()->host_of(leader).back());
  const Row between = row_of(ends, host.ranks.back());

  b.stage(3);
  const bool tells = host.last() && !between.last();  // later hosts need this host's sum
  const Slice own = inclusive ? output : kSum;
  if (inclusive || tells || !host.last()) b.copy(Builder::input(), own);
  double_up(b, host, own, inclusive || tells, inclusive ? nullptr : &output);
  if (host.last()) {
    if (inclusive && tells) b.copy(output, kSum);
    double_up(b, between, kSum, false, &kBefore);
  }
  if (between.mine == 0) return;
  hand_down_host(b, host);
  if (!inclusive && host.mine == 0)
    b.copy(kBefore, output);
  else
    b.reduce(kBefore, output, output);
}

}  // namespace

void scan_two_level(Builder& b) { two_level(b, true); }

void exscan_two_level(Builder& b) { two_level(b, false); }

}  // namespace tern::coll
