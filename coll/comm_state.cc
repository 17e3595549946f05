// SPDX-License-Identifier: Apache-2.0
// What collectives know of a communicator.
#include "coll/comm_state.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/explain.hpp"
#include "base/params.hpp"
#include "core/info.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::coll {

CommState::~CommState() {
  const Explain& explain = communicator.process().explain;
  for (const auto& [size, sum] : measured) {
    const auto& [algorithm, power] = size;
    const unsigned long long bytes = power == 0 ? 0 : 1ULL << (power - 1);
    const auto count = static_cast<double>(sum.count);
    const double took = static_cast<double>(sum.nanoseconds) / 1000 / count;
    explain.say("collective_time",
                {{"operation", name_of(algorithm->collective)},
                 {"algorithm", algorithm->name},
                 {"bytes", bytes},
                 {"count", static_cast<unsigned long long>(sum.count)},
                 {"communicator", communicator.name}},
                strf("%s from %s on, %s, %lld times on %s: predicted %.1f us, measured %.1f us",
                     name_of(algorithm->collective), bytes_in_words(bytes).c_str(), algorithm->name,
                     static_cast<long long>(sum.count),
                     communicator.name.empty() ? "a communicator" : communicator.name.c_str(),
                     sum.predicted / count, took));
  }
}

void Places::set_sizes(const std::string& sizes) {
  for (size_t from = 0; from < sizes.size();) {
    const size_t comma = std::min(sizes.find(',', from), sizes.size());
    sizes_.push_back(parse_size(sizes.substr(from, comma - from), "TERN_COLL_LEVELS"));
    if (sizes_.back() < 1)
      throw Error(
          MPI_ERR_ARG,
          strf("TERN_COLL_LEVELS is \"%s\"; it must be sizes from 1 on, as 8,2", sizes.c_str()));
    from = comma + 1;
  }
}

const Levels* Places::of(const core::Communicator& communicator) {
  core::Process& process = communicator.process();
  const bool several = host_of_ != nullptr && process.node_size < process.world_size;
  if (sizes_.empty() && !several) return nullptr;
  std::vector<std::vector<int64_t>> names(std::max<size_t>(sizes_.size(), 1));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto in_world = static_cast<int64_t>(communicator.peer(rank).rank);
    if (sizes_.empty()) names[0].push_back(host_of_(process, static_cast<int>(in_world)));
    for (size_t l = 0; l < sizes_.size(); ++l) names[l].push_back(in_world / sizes_[l]);
  }
  Levels made = Levels::from_names(names);
  if (made.empty()) return nullptr;
  for (const auto& one : known_)
    if (*one == made) return one.get();
  return known_.emplace_back(std::make_unique<Levels>(std::move(made))).get();
}

std::unique_ptr<Forced> hints_of(const core::Communicator& communicator) {
  if (!communicator.info) return nullptr;
  std::unique_ptr<Forced> hints;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    const std::string* value = communicator.info->get(std::string("tern_") + name_of(collective));
    if (value == nullptr) continue;
    if (hints == nullptr) hints = std::make_unique<Forced>();
    hints->by[i] = find_algorithm(collective, value->c_str());
  }
  return hints;
}

}  // namespace tern::coll
