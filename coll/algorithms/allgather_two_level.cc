// SPDX-License-Identifier: Apache-2.0
// Two-level allgather: each host's lowest rank, the leader, collects the host's blocks; leaders
// pass the blocks around a ring and broadcast all blocks down a binomial tree. Only leaders'
// messages leave a host.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

void send_blocks(Builder& b, int32_t to, const std::vector<int32_t>& of) {
  for (const RankRun& run : runs_of(of)) b.send(to, Builder::output(run.first, run.count));
}
void recv_blocks(Builder& b, int32_t from, const std::vector<int32_t>& of) {
  for (const RankRun& run : runs_of(of)) b.recv(from, Builder::output(run.first, run.count));
}

void around(Builder& b) {
  const std::vector<int32_t> leaders = b.levels()->leaders();
  const auto hosts = static_cast<int32_t>(leaders.size());
  const auto mine =
      static_cast<int32_t>(std::find(leaders.begin(), leaders.end(), b.rank()) - leaders.begin());
  const auto leader = [&](int32_t host) {
    return leaders[static_cast<size_t>((host + hosts) % hosts)];
  };
  for (int32_t round = 0; round + 1 < hosts; ++round) {
    send_blocks(b, leader(mine + 1), b.levels()->host_of(leader(mine - round)));
    recv_blocks(b, leader(mine - 1), b.levels()->host_of(leader(mine - round - 1)));
  }
}

}  // namespace

void allgather_two_level(Builder& b) {
  const std::vector<int32_t> host = b.levels()->host_of(b.rank());
  const auto size = static_cast<int32_t>(host.size());
  const auto mine =
      static_cast<int32_t>(std::find(host.begin(), host.end(), b.rank()) - host.begin());
  const Slice all = Builder::output(0, b.ranks());
  b.window(kWindow);
  if (mine == 0) {
    for (const int32_t rank : host)
      if (rank != b.rank()) b.recv(rank, Builder::output(rank));
    b.copy(Builder::input(), Builder::output(b.rank()));
    around(b);
  } else {
    b.send(host[0], Builder::input());
  }
  const Binomial tree{size, mine};
  if (mine != 0) b.recv(host[static_cast<size_t>(tree.parent())], all);
  for (int32_t step = tree.reach() / 2; step > 0; step /= 2) {
    const int32_t child = mine + step;
    if (child < size) b.send(host[static_cast<size_t>(child)], all);
  }
}

}  // namespace tern::coll
