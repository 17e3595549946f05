// SPDX-License-Identifier: Apache-2.0
// Contexts: from the job-wide id of a communicator to this process's index of it, and to the
// communicator. Why: making a communicator needs no agreement on a number; messages may even come
// before it is made here. Threads: under the channel's lock. See: core/communicator.hpp,
// tests/unit/pml/contexts_test.cc.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/error.hpp"
#include "core/communicator.hpp"

namespace tern::pml {

class Contexts {
 public:
  struct Entry {
    uint32_t index;
    core::Communicator* communicator;  // nullptr: not made here yet
    uint32_t told_last = UINT32_MAX;   // the peer that was told the index most recently
  };

  /// The communicator is made: it takes the index that early messages have chosen, else keeps its
  /// own (or a new one).
  void add(core::Communicator& communicator) {
    auto [place, fresh] = entries_.try_emplace(communicator.id(), Entry{0, &communicator});
    Entry& entry = place->second;
    entry.communicator = &communicator;
    if (fresh) {
      if (communicator.index() == 0) communicator.set_index(free_index(communicator.process()));
      entry.index = communicator.index();
    } else {
      communicator.set_index(entry.index);
    }
  }
  void remove(core::Communicator& communicator) noexcept { entries_.erase(communicator.id()); }

  /// The entry of an id that a message names; made where this is the first we hear of it.
  Entry& hear_of(core::ContextId id, core::Process& process) {
    auto [place, fresh] = entries_.try_emplace(id, Entry{0, nullptr});
    if (fresh) place->second.index = free_index(process);
    return place->second;
  }
  [[nodiscard]] core::Communicator* find(core::ContextId id) const noexcept {
    const auto place = entries_.find(id);
    return place == entries_.end() ? nullptr : place->second.communicator;
  }

 private:
  /// After a billion communicators the numbers begin again: those in use are passed over.
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
  std::unordered_map<core::ContextId, Entry, Hash> entries_;
};

}  // namespace tern::pml
