// SPDX-License-Identifier: Apache-2.0
#include "boot/known_worlds.hpp"

#include <algorithm>
#include <atomic>

#include "base/error.hpp"

namespace tern::boot {

struct alignas(64) KnownWorlds::Header {
  std::atomic<std::int32_t> crowd;
};

struct alignas(32) KnownWorlds::List {
  std::atomic<std::uint32_t> count, met;
  std::atomic<std::uint64_t> worlds[kMost];
};

// The next part of the memory begins at a multiple of 64, too.
std::size_t KnownWorlds::bytes_for(int size) noexcept {
  const std::size_t bytes = sizeof(Header) + static_cast<std::size_t>(size) * sizeof(List);
  return (bytes + alignof(Header) - 1) / alignof(Header) * alignof(Header);
}

KnownWorlds::Header& KnownWorlds::header() const noexcept {
  return *reinterpret_cast<Header*>(memory_);
}

KnownWorlds::List& KnownWorlds::list(int rank) const noexcept {
  TERN_ASSERT(rank >= 0 && rank < size_);
  return reinterpret_cast<List*>(memory_ + sizeof(Header))[rank];
}

void KnownWorlds::set(int rank, const std::vector<std::uint64_t>& worlds) const noexcept {
  List& mine = list(rank);
  for (std::size_t i = 0; i < kMost; ++i) mine.worlds[i] = i < worlds.size() ? worlds[i] : 0;
  if (!worlds.empty()) mine.met = 1;
  mine.count = static_cast<std::uint32_t>(worlds.size());
}

bool KnownWorlds::has(int rank, std::uint64_t world) const noexcept {
  const List& its = list(rank);
  const std::uint32_t count = its.count;
  return count > kMost || std::find(its.worlds, its.worlds + count, world) != its.worlds + count;
}

bool KnownWorlds::has_met(int rank) const noexcept { return list(rank).met != 0; }

void KnownWorlds::set_crowd(int ranks) const noexcept { header().crowd = ranks; }
int KnownWorlds::crowd() const noexcept { return header().crowd; }

}  // namespace tern::boot
