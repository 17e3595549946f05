// SPDX-License-Identifier: Apache-2.0
// Contexts: maps a communicator's job-wide id to the local index and the communicator.
// Why: messages may arrive before the communicator is made here.
// Threads: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/error.hpp"
#include "core/communicator.hpp"

namespace tern::pml {

class Contexts {
 public:
  /// `tell`: the peer needs the local index.
  struct Heard {
    uint32_t index;
    bool tell;
  };

  /// A new communicator takes the index of early messages, if any. Throws Error if a live
  /// communicator has the same id.
  void add(core::Communicator& communicator) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto [place, fresh] = entries_.try_emplace(communicator.id(), ContextEntry{0, &communicator});
    ContextEntry& entry = place->second;
    if (!fresh && entry.communicator != nullptr && entry.communicator != &communicator)
      refuse(communicator, *entry.communicator);
    entry.communicator = &communicator;
    if (fresh) {
      if (communicator.index() == 0) communicator.set_index(free_index(communicator.process()));
      entry.index = communicator.index();
    } else {
      communicator.set_index(entry.index);
    }
  }
  void remove(core::Communicator& communicator) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto place = entries_.find(communicator.id());
    if (place != entries_.end() && place->second.communicator == &communicator)
      entries_.erase(place);
  }

  Heard hear_of(core::ContextId id, uint32_t peer, core::Process& process) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto [place, fresh] = entries_.try_emplace(id, ContextEntry{0, nullptr});
    ContextEntry& entry = place->second;
    if (fresh) entry.index = free_index(process);
    const bool tell = entry.told_last != peer;
    entry.told_last = peer;
    return {entry.index, tell};
  }
  /// with() keeps the communicator alive during use().
  template <class Use>
  void with(core::ContextId id, Use&& use) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto place = entries_.find(id);
    if (place != entries_.end() && place->second.communicator != nullptr)
      use(*place->second.communicator);
  }

  /// use() may not add or remove communicators.
  template <class Use>
  void for_each(const Use& use) {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& [id, entry] : entries_)
      if (entry.communicator != nullptr) use(*entry.communicator);
  }

 private:
  struct ContextEntry {
    uint32_t index;
    core::Communicator* communicator;
    uint32_t told_last = UINT32_MAX;
  };

  [[noreturn]] TERN_COLD static void refuse(const core::Communicator& made,
                                            const core::Communicator& alive) {
    const core::ContextId id = made.id();
    throw Error(MPI_ERR_INTERN,
                strf("%s has the context id %016llx.%08x of %s, which is in use, so messages would "
                     "be mixed up. Ids are hashes computed by all members, and two ids collided; "
                     "free the older communicator, or make another one first",
                     described("the new communicator", made).c_str(),
                     static_cast<unsigned long long>(id.creator), id.counter,
                     described("a communicator", alive).c_str()));
  }
  static std::string described(const char* what, const core::Communicator& communicator) {
    return strf("%s (%s, rank %d of %d%s)", what,
                communicator.name.or_words("without a name").c_str(), communicator.rank(),
                communicator.size(), communicator.inter() ? ", an inter-communicator" : "");
  }

  /// Indices wrap after a billion communicators.
  uint32_t free_index(core::Process& process) const noexcept {
    uint32_t index = process.next_context_index();
    while (process.context_indices_repeat() && in_use(index)) index = process.next_context_index();
    return index;
  }
  [[nodiscard]] TERN_COLD bool in_use(uint32_t index) const noexcept {
    for (const auto& [id, entry] : entries_)
      if (entry.index == index) return true;
    return false;
  }

  struct Hash {
    size_t operator()(const core::ContextId& id) const noexcept {
      return (id.creator * 0x9e3779b97f4a7c15) ^ (id.counter * 0xc2b2ae3d27d4eb4f);
    }
  };
  std::mutex mutex_;
  std::unordered_map<core::ContextId, ContextEntry, Hash> entries_;
};

}  // namespace tern::pml
