// SPDX-License-Identifier: Apache-2.0
// Context ids as hashes.
#include "core/context.hpp"

#include <utility>

namespace tern::core {

namespace {

/// mix() is a bijection of 64 bits; each input bit flips half of the output bits (the finalizer of
/// splitmix64).
constexpr uint64_t mix(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

ContextNames::ContextNames(Process& process, ContextId id, uint32_t index) noexcept
    : channel_(process.channel(id.channel_hint())),
      creator_(id.creator),
      counter_(id.counter),
      index_(index) {}

ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                         uint64_t sibling) noexcept {
  const uint64_t cause = (static_cast<uint64_t>(why) << 32) | parent.counter;
  uint64_t state = mix(parent.creator + 0x9e3779b97f4a7c15ULL);
  state = mix(state ^ mix(cause + 0xd1342543de82ef95ULL));
  uint64_t second = mix(parent.creator ^ mix(cause));
  state = mix(state ^ mix(number + 0xaf251af3b0f025b5ULL));
  second = mix(second + mix(number ^ 0x2545f4914f6cdd1dULL));
  state = mix(state ^ mix(sibling + 0x9fb21c651e98df25ULL));
  second = mix(second + mix(sibling ^ 0xda942042e4dd58b5ULL));
  constexpr uint32_t kChannelHints = ContextId::kChannelHints;
  const uint32_t hint = parent.channel_hint() + static_cast<uint32_t>(number);
  return {state, (static_cast<uint32_t>(second) & ~kChannelHints) | (hint & kChannelHints)};
}

ContextId meet_contexts(ContextId one, ContextId other) noexcept {
  const bool ordered =
      one.creator != other.creator ? one.creator < other.creator : one.counter < other.counter;
  if (!ordered) std::swap(one, other);
  return derive_context(one, Derivation::kMeet, other.creator, other.counter);
}

uint64_t digest_members(const Membership& parent, const Group& group, int tag) noexcept {
  uint64_t digest = mix(static_cast<uint64_t>(tag) + 0x9e3779b97f4a7c15ULL);
  for (int rank = 0; rank < group.size(); ++rank) {
    const int member = parent.group().rank_of(group.peer_index(rank));
    digest = mix(digest + 0x9e3779b97f4a7c15ULL + static_cast<uint64_t>(member));
  }
  return digest;
}

}  // namespace tern::core
