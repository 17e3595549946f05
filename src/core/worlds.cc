// SPDX-License-Identifier: Apache-2.0
#include "core/worlds.hpp"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "mpi.h"

namespace tern::core {

Worlds::Numbers Worlds::used() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  Numbers used;
  used.set(0);
  for (const auto& [where, index] : by_number_) used.set(where.first);
  return used;
}

std::optional<Worlds::Admitted> Worlds::admit(const Stranger& stranger) {
  if (stranger.name.world == own()) return Admitted{stranger.name.rank, false};
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const auto known = by_name_.find(stranger.name); known != by_name_.end()) {
    ++by_index_.at(known->second).held;
    return Admitted{known->second, false};
  }
  if (is_taken(stranger)) return std::nullopt;
  const uint32_t index = size_ + made_++;
  Peer& peer = peers_.at(index);
  peer.nspace = stranger.number;
  peer.rank = stranger.name.rank;
  peer.there = stranger.there;
  peer.shares_memory = stranger.shares_memory;
  nodes_.emplace(stranger.host, -1 - static_cast<int>(nodes_.size()));
  by_index_.emplace(index, Known{stranger, 1});
  by_name_.emplace(stranger.name, index);
  by_number_.emplace(std::pair{stranger.number, stranger.name.rank}, index);
  any_ = true;
  return Admitted{index, true};
}

bool Worlds::is_taken(const Stranger& stranger) const {
  const auto first = by_number_.lower_bound({stranger.number, 0});
  if (first == by_number_.end() || first->first.first != stranger.number) return false;
  return by_index_.at(first->second).stranger.name.world != stranger.name.world;
}

std::optional<uint32_t> Worlds::find(uint32_t number, uint32_t rank) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_number_.find({number, rank});
  return found == by_number_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> Worlds::find(const ProcessName& name) const {
  if (name.world == own()) return name.rank;
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

ProcessName Worlds::name_of(uint32_t index) const {
  if (!is_stranger(index)) return {own(), index};
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? ProcessName{} : found->second.stranger.name;
}

int Worlds::node_of(uint32_t index) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_index_.find(index);
  return found == by_index_.end() ? INT_MIN : nodes_.at(found->second.stranger.host);
}

void Worlds::know_host(uint64_t host, int node) {
  const std::lock_guard<std::mutex> guard(mutex_);
  nodes_.insert_or_assign(host, node);
}

int Worlds::ranks_on(uint64_t host) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::map<uint64_t, int> by_world;
  for (const auto& [index, known] : by_index_)
    if (known.stranger.host == host)
      by_world[known.stranger.name.world] = known.stranger.ranks_there;
  int ranks = 0;
  for (const auto& [world, there] : by_world) ranks += there;
  return ranks;
}

size_t Worlds::sharing_memory() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return static_cast<size_t>(std::count_if(by_index_.begin(), by_index_.end(), [](const auto& one) {
    return one.second.stranger.shares_memory;
  }));
}

void Worlds::hold(const std::vector<uint32_t>& strangers) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const uint32_t index : strangers)
    if (const auto found = by_index_.find(index); found != by_index_.end()) ++found->second.held;
}

void Worlds::let_go(const std::vector<uint32_t>& strangers) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const uint32_t index : strangers)
    if (const auto found = by_index_.find(index); found != by_index_.end()) --found->second.held;
}

std::vector<uint32_t> Worlds::take_unheld(const std::vector<uint32_t>& strangers) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<uint32_t> unheld;
  for (const uint32_t index : strangers)
    if (const auto found = by_index_.find(index); found != by_index_.end() &&
                                                  found->second.held <= 0 &&
                                                  !std::exchange(found->second.taken, true))
      unheld.push_back(index);
  return unheld;
}

void Worlds::forget(uint32_t index) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_index_.find(index);
  if (found == by_index_.end()) return;
  const Stranger& stranger = found->second.stranger;
  by_name_.erase(stranger.name);
  by_number_.erase({stranger.number, stranger.name.rank});
  by_index_.erase(found);
}

std::vector<uint64_t> Worlds::known() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<uint64_t> hashes;
  for (const auto& [name, index] : by_name_)
    if (hashes.empty() || hashes.back() != name.world) hashes.push_back(name.world);
  return hashes;
}

std::vector<uint32_t> Worlds::all() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<uint32_t> indices;
  for (const auto& [index, known] : by_index_) indices.push_back(index);
  return indices;
}

}  // namespace tern::core
