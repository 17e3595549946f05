// SPDX-License-Identifier: Apache-2.0
// Places: levels from hosts, descriptions and bindings.
#include "coll/engine/places.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "core/process.hpp"

namespace tern::coll {
namespace {

void warn(core::Process& process, topo::MachinePart::Kind kind, size_t rank) {
  if (process.world_rank != 0) return;
  process.explain.warn(
      "collective_levels", {{"part", topo::name_of(kind)}, {"unbound_rank", rank}},
      strf("TERN_COLL_LEVELS has levels by %s, but rank %zu is not bound to a single %s (or the "
           "machine has none): level ignored; bind ranks with mpirun --bind-to core",
           topo::name_of(kind), rank, topo::name_of(kind)));
}

bool has_strangers(const core::Communicator& communicator) {
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (communicator.peer(rank).nspace != 0) return true;
  return false;
}

// In a single world no Peer needs to be kept: 20 bytes a rank.
core::Peer member(const core::Communicator& communicator, int rank) {
  if (communicator.process().worlds.any()) return communicator.peer(rank);
  const uint32_t index = communicator.peer_index(rank);
  return {.index = index, .rank = index};
}

}  // namespace

void Places::ask_parts(core::Process& process) {
  asked_ = true;
  for (const topo::MachinePart::Kind kind : words_.parts) {
    std::vector<int64_t> level;
    level.reserve(static_cast<size_t>(process.world_size));
    for (int rank = 0; rank < process.world_size; ++rank)
      level.push_back(part_of_(process, rank, kind));
    const auto unbound =
        std::find_if(level.begin(), level.end(), [](int64_t part) { return part < 0; });
    if (unbound == level.end())
      parts_.push_back(std::move(level));
    else
      warn(process, kind, static_cast<size_t>(unbound - level.begin()));
  }
}

const Levels* Places::of(const core::Communicator& communicator) {
  core::Process& process = communicator.process();
  if (communicator.inter()) return nullptr;
  const bool strangers = process.worlds.any() && has_strangers(communicator);
  const bool several =
      host_of_ != nullptr && (strangers || process.node.ranks < process.world_size);
  if (words_.empty() && !several) return nullptr;
  if (!asked_ && part_of_ != nullptr) ask_parts(process);
  Names names;
  const auto add = [&](auto&& name_of) {
    names.emplace_back();
    names.back().reserve(static_cast<size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank)
      names.back().push_back(name_of(member(communicator, rank)));
  };
  if (several && words_.sizes.empty())
    add([&](const core::Peer& peer) { return host_of_(process, peer); });
  if (strangers) return of_names(communicator, names, "collectives");
  for (const int32_t size : words_.sizes)
    add([size](const core::Peer& peer) { return int64_t{peer.rank} / size; });
  for (const auto& level : parts_)
    add([&level](const core::Peer& peer) { return level[peer.rank]; });
  return of_names(communicator, names, "collectives");
}

const Levels* Places::of_names(const core::Communicator& communicator, const Names& names,
                               const char* what) {
  const core::Process& process = communicator.process();
  Levels made = Levels::from_names(names);
  if (made.empty()) return nullptr;
  for (const auto& one : known_)
    if (*one == made) return one.get();
  if (process.explain.on() && communicator.rank() == 0)
    process.explain.say(
        "collective_levels", {{"communicator", communicator.name.text()}, {"levels", made.text()}},
        strf("%s on %s use levels: %s", what, communicator.name.or_words("a communicator").c_str(),
             made.text().c_str()));
  return known_.emplace_back(std::make_unique<Levels>(std::move(made))).get();
}

}  // namespace tern::coll
