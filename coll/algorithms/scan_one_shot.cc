// SPDX-License-Identifier: Apache-2.0
// One-shot scan and exscan: every rank sends a vector to all higher ranks and reduces the lower
// ranks' vectors, in rank order.
// Why: a single hop; kernels use LL and LL128 (coll/gpu/push_run.hpp).
#include "coll/algorithms/algorithms.hpp"
#include "coll/emitters.hpp"

namespace tern::coll {
namespace {

/// exchange_upwards() returns the lower ranks' vectors.
std::vector<Slice> exchange_upwards(Builder& b) {
  const int32_t ranks = b.ranks(), mine = b.rank();
  b.stage(ranks);
  b.window(kWindow);
  std::vector<Slice> below;
  for (int32_t rank = 0; rank < mine; ++rank) below.push_back(Builder::staged(rank));
  for (int32_t round = 1; round < ranks; ++round) {
    if (mine >= round) b.recv(mine - round, below[static_cast<size_t>(mine - round)]);
    if (mine + round < ranks) b.send(mine + round, Builder::input());
  }
  return below;
}

void reduce_or_copy(Builder& b, const std::vector<Slice>& all) {
  if (all.size() == 1)
    b.copy(all.front(), Builder::output());
  else if (!all.empty())
    b.reduce(all, Builder::output());
}

}  // namespace

void scan_one_shot(Builder& b) {
  std::vector<Slice> all = exchange_upwards(b);
  all.push_back(Builder::input());
  reduce_or_copy(b, all);
}

void exscan_one_shot(Builder& b) { reduce_or_copy(b, exchange_upwards(b)); }

}  // namespace tern::coll
