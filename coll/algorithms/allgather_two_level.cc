// SPDX-License-Identifier: Apache-2.0
// Two-level allgather: each host's lowest rank, the leader, collects the host's blocks; leaders
// exchange blocks with ever farther leaders (dissemination, as in Bruck et al. 1997), and broadcast
// all blocks down a binomial tree. Only leaders' messages leave a host.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/ranks.hpp"

namespace tern::coll {
namespace {

// In the round at distance d, a leader passes on the blocks of the d hosts up to its own.
void exchange_hosts(Builder& b) {
  const std::vector<int32_t> leaders = b.levels()->leaders();
  const auto hosts = static_cast<int32_t>(leaders.size());
  const auto mine =
      static_cast<int32_t>(std::find(leaders.begin(), leaders.end(), b.rank()) - leaders.begin());
  const auto leader = [&](int32_t host) {
    return leaders[static_cast<size_t>((host + hosts) % hosts)];
  };
  const auto runs_up_to = [&](int32_t last, int32_t count) {
    return runs_of_hosts(*b.levels(), leaders, last - count + 1, count);
  };
  for (int32_t distance = 1; distance < hosts; distance *= 2) {
    const int32_t count = std::min(distance, hosts - distance);
    for (const RankRun& run : runs_up_to(mine, count))
      b.send(leader(mine + distance), Builder::output(run.first, run.count));
    for (const RankRun& run : runs_up_to(mine - distance, count))
      b.recv(leader(mine - distance), Builder::output(run.first, run.count));
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
    exchange_hosts(b);
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
