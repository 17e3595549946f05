// SPDX-License-Identifier: Apache-2.0
// Hosts: the ranks of a file by host, and the aggregators: the ranks that make the system calls of
// collective transfers with exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::io {

class Hosts {
 public:
  struct Aggregator {
    int rank;
    size_t host;
    size_t local;  // position among the ranks of the host
  };

  Hosts() = default;
  /// `leader_of`: the lowest rank of the same host, by rank. Throws std::bad_alloc.
  Hosts(const std::vector<int>& leader_of, int rank);

  /// Chooses `per_host` ranks of each host (0: all), but at most `most` ranks (0: no limit), on
  /// as many hosts as possible. Throws std::bad_alloc.
  void choose(int64_t per_host, int64_t most);

  [[nodiscard]] size_t count() const noexcept { return ranks_.size(); }
  [[nodiscard]] size_t mine() const noexcept { return mine_; }
  [[nodiscard]] const std::vector<int>& locals() const noexcept { return ranks_[mine_]; }
  /// This rank's position among locals().
  [[nodiscard]] int local_rank() const noexcept { return local_rank_; }
  /// The ranks of the host with the fewest ranks.
  [[nodiscard]] int fewest() const noexcept;
  /// The lowest rank of each host, ascending.
  [[nodiscard]] const std::vector<int>& leaders() const noexcept { return leaders_; }

  /// In the order of the domains.
  [[nodiscard]] const std::vector<Aggregator>& aggregators() const noexcept { return aggregators_; }
  /// This rank's domain, or -1.
  [[nodiscard]] int own_domain() const noexcept { return own_domain_; }
  /// The rank of host `host` that exchanges data with an aggregator of another host.
  [[nodiscard]] int partner(size_t host, const Aggregator& aggregator) const noexcept {
    return ranks_[host][aggregator.local % ranks_[host].size()];
  }

 private:
  std::vector<std::vector<int>> ranks_{{0}};
  std::vector<int> leaders_;
  std::vector<Aggregator> aggregators_;
  size_t mine_ = 0;
  int rank_ = 0, local_rank_ = 0, own_domain_ = -1;
};

}  // namespace tern::io
