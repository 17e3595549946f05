// SPDX-License-Identifier: Apache-2.0
// Two-level reduce-scatter: each host reduces the vector to its lowest rank, the leader, along a
// binomial tree; leaders exchange and add the blocks of each other's hosts, pairwise or by
// recursive halving, then scatter blocks to their ranks. Definitions: the first mirror holds the
// partial result, the second received data.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/halving.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

Slice partial(const Builder& b, int32_t first, int32_t blocks) {
  return slice_at(b, kAtMirror, first, blocks);
}
Slice received(const Builder& b, int32_t first, int32_t blocks) {
  return slice_at(b, kAtSecondMirror, first, blocks);
}

// reduce_host() returns the place of this rank's part.
PartialBuffer reduce_host(Builder& b, const std::vector<int32_t>& host, int32_t mine) {
  const auto size = static_cast<int32_t>(host.size());
  const Binomial tree{size, mine};
  PartialBuffer held = kAtInput;
  for (int32_t step = 1; step < tree.reach() && mine + step < size; step *= 2) {
    const int32_t child = mine + step;
    b.recv(host[static_cast<size_t>(child)], received(b, 0, b.ranks()));
    b.reduce(received(b, 0, b.ranks()), slice_at(b, held, 0, b.ranks()), partial(b, 0, b.ranks()));
    held = kAtMirror;
  }
  if (mine != 0) b.send(host[static_cast<size_t>(tree.parent())], slice_at(b, held, 0, b.ranks()));
  return held;
}

// Functions between hosts return the place of the sums.
using BetweenHosts = PartialBuffer (*)(Builder& b, PartialBuffer held);

PartialBuffer pairwise(Builder& b, PartialBuffer held) {
  const std::vector<int32_t> leaders = b.levels()->leaders();
  const auto hosts = std::ssize(leaders);
  const auto mine = std::find(leaders.begin(), leaders.end(), b.rank()) - leaders.begin();
  const std::vector<RankRun> blocks = runs_of(b.levels()->host_of(b.rank()));
  PartialBuffer sums = held;
  for (auto turn = decltype(hosts){1}; turn < hosts; ++turn) {
    const int32_t to = leaders[static_cast<size_t>((mine + turn) % hosts)];
    const int32_t from = leaders[static_cast<size_t>((mine - turn + hosts) % hosts)];
    for (const RankRun& run : runs_of(b.levels()->host_of(to)))
      b.send(to, slice_at(b, held, run.first, run.count));
    for (const RankRun& run : blocks) b.recv(from, received(b, run.first, run.count));
    for (const RankRun& run : blocks)
      b.reduce(received(b, run.first, run.count), slice_at(b, sums, run.first, run.count),
               partial(b, run.first, run.count));
    sums = kAtMirror;
  }
  return sums;
}

// Halving: leaders exchange the blocks of hosts [first, end).
class Halving {
 public:
  Halving(Builder& b, PartialBuffer held)
      : b_(b), held_(held), leaders_(b.levels()->leaders()), end_(count()) {}

  PartialBuffer run() {
    const auto mine = static_cast<int32_t>(std::find(leaders_.begin(), leaders_.end(), b_.rank()) -
                                           leaders_.begin());
    const Fold fold{count(), mine, leaders_.data()};
    if (fold.idle()) {
      send(fold.mate(), 0, count());
      for (const RankRun& run : runs_between(mine, mine + 1))
        b_.recv(fold.mate(), partial(b_, run.first, run.count));
      return kAtMirror;
    }
    if (fold.paired()) add(fold.mate());
    for (int32_t low = 0, numbers = fold.size() / 2; numbers > 0; numbers /= 2) {
      const bool lower = fold.number() < low + numbers;
      const int32_t partner = fold.rank_of(fold.number() + (lower ? numbers : -numbers));
      const int32_t middle = fold.ranks_before(low + numbers);
      send(partner, lower ? middle : first_, lower ? end_ : middle);
      (lower ? end_ : first_) = middle;
      if (!lower) low += numbers;
      add(partner);
    }
    if (fold.paired()) send(fold.mate(), mine - 1, mine);
    return held_;
  }

 private:
  [[nodiscard]] int32_t count() const noexcept { return static_cast<int32_t>(leaders_.size()); }
  [[nodiscard]] std::vector<RankRun> runs_between(int32_t first, int32_t end) const {
    return runs_of_hosts(*b_.levels(), leaders_, first, end - first);
  }
  void send(int32_t to, int32_t first, int32_t end) const {
    for (const RankRun& run : runs_between(first, end))
      b_.send(to, slice_at(b_, held_, run.first, run.count));
  }
  void add(int32_t from) {
    const std::vector<RankRun> runs = runs_between(first_, end_);
    for (const RankRun& run : runs) b_.recv(from, received(b_, run.first, run.count));
    for (const RankRun& run : runs)
      b_.reduce(received(b_, run.first, run.count), slice_at(b_, held_, run.first, run.count),
                partial(b_, run.first, run.count));
    held_ = kAtMirror;
  }

  Builder& b_;
  PartialBuffer held_;
  const std::vector<int32_t> leaders_;
  int32_t first_ = 0, end_;
};

PartialBuffer halving(Builder& b, PartialBuffer held) { return Halving(b, held).run(); }

void emit(Builder& b, BetweenHosts between_hosts) {
  const std::vector<int32_t> host = b.levels()->host_of(b.rank());
  const auto mine =
      static_cast<int32_t>(std::find(host.begin(), host.end(), b.rank()) - host.begin());
  b.mirrors(2);
  const PartialBuffer held = reduce_host(b, host, mine);
  if (mine != 0) return b.recv(host[0], Builder::output());
  const PartialBuffer sums = between_hosts(b, held);
  for (const int32_t rank : host)
    if (rank != b.rank()) b.send(rank, slice_at(b, sums, rank, 1));
  b.copy(slice_at(b, sums, b.rank(), 1), Builder::output());
}

}  // namespace

void reduce_scatter_two_level(Builder& b) { emit(b, pairwise); }

void reduce_scatter_two_level_halving(Builder& b) { emit(b, halving); }

}  // namespace tern::coll
