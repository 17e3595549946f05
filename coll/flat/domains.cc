// SPDX-License-Identifier: Apache-2.0
// Domains: equal parts, and parts of NUMA nodes.
#include "coll/flat/domains.hpp"

#include <algorithm>
#include <cmath>

namespace tern::coll {
namespace {

/// sqrt(ranks) minimizes the cache lines read.
int best_size(int ranks) noexcept {
  return std::max(1, static_cast<int>(std::lround(std::sqrt(static_cast<double>(ranks)))));
}

int parts_of(int ranks, int size) noexcept { return std::max(1, (ranks + size / 2) / size); }

std::vector<int32_t> runs_on_nodes(const std::vector<int>& nodes) {
  std::vector<int32_t> runs;
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] == Domains::kUnknown) return {};
    if (rank == 0 || nodes[rank] != nodes[rank - 1]) runs.push_back(static_cast<int32_t>(rank));
  }
  return runs;
}

}  // namespace

Domains::Domains(int ranks) noexcept : ranks_(ranks), count_(parts_of(ranks, best_size(ranks))) {}

// Many short runs mean round-robin placement.
Domains::Domains(const std::vector<int>& nodes) : Domains(static_cast<int>(nodes.size())) {
  std::vector<int32_t> runs = runs_on_nodes(nodes);
  const int size = best_size(ranks_);
  if (runs.size() < 2 || static_cast<int>(runs.size()) > count_) return;
  std::vector<int32_t> firsts;
  runs.push_back(ranks_);
  for (size_t run = 0; run + 1 < runs.size(); ++run) {
    const int length = runs[run + 1] - runs[run], parts = parts_of(length, size);
    for (int part = 0; part < parts; ++part) firsts.push_back(runs[run] + length * part / parts);
  }
  firsts.push_back(ranks_);
  firsts_ = std::make_unique<int32_t[]>(firsts.size());
  std::copy(firsts.begin(), firsts.end(), firsts_.get());
  count_ = static_cast<int>(firsts.size()) - 1;
}

int Domains::of(int rank) const noexcept {
  if (firsts_ == nullptr) return static_cast<int>((int64_t{rank + 1} * count_ - 1) / ranks_);
  return static_cast<int>(std::upper_bound(&firsts_[0], &firsts_[0] + count_, rank) - &firsts_[0]) -
         1;
}

}  // namespace tern::coll
