// SPDX-License-Identifier: Apache-2.0
#include "io/hosts.hpp"

#include <algorithm>
#include <map>

namespace tern::io {

Hosts::Hosts(const std::vector<int>& leader_of, int rank) : rank_(rank) {
  ranks_.clear();
  std::map<int, size_t> host_of;  // by leader
  for (const int leader : leader_of)
    if (host_of.emplace(leader, 0).second) leaders_.push_back(leader);
  std::sort(leaders_.begin(), leaders_.end());
  for (size_t host = 0; host < leaders_.size(); ++host) host_of[leaders_[host]] = host;
  ranks_.resize(leaders_.size());
  for (size_t i = 0; i < leader_of.size(); ++i)
    ranks_[host_of[leader_of[i]]].push_back(static_cast<int>(i));
  mine_ = host_of[leader_of[static_cast<size_t>(rank)]];
  local_rank_ =
      static_cast<int>(std::find(locals().begin(), locals().end(), rank) - locals().begin());
}

int Hosts::fewest() const noexcept {
  size_t fewest = ranks_.front().size();
  for (const std::vector<int>& host : ranks_) fewest = std::min(fewest, host.size());
  return static_cast<int>(fewest);
}

void Hosts::choose(int64_t per_host, int64_t most) {
  aggregators_.clear();
  const size_t limit = most == 0 ? SIZE_MAX : static_cast<size_t>(most);
  bool found = true;
  for (size_t local = 0; found && (per_host == 0 || local < static_cast<size_t>(per_host));
       ++local) {
    found = false;
    for (size_t host = 0; host < ranks_.size() && aggregators_.size() < limit; ++host) {
      if (local >= ranks_[host].size()) continue;
      aggregators_.push_back({ranks_[host][local], host, local});
      found = true;
    }
  }
  // Neighbouring domains of a host: ranks often have neighbouring ranges.
  std::sort(aggregators_.begin(), aggregators_.end(),
            [](const Aggregator& one, const Aggregator& other) {
              return std::pair(one.host, one.local) < std::pair(other.host, other.local);
            });
  own_domain_ = -1;
  for (size_t i = 0; i < aggregators_.size(); ++i)
    if (aggregators_[i].rank == rank_) own_domain_ = static_cast<int>(i);
}

}  // namespace tern::io
