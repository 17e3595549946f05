// SPDX-License-Identifier: Apache-2.0
// Context ids; ContextNames: a communicator's id and indices in messages.
// Ids: all members derive communicators in the same order, as the standard demands. So each member
// computes a derived id without a message, as a hash of the parent's id, the count of earlier
// derivations, and a sibling number. dup, create and create_group send nothing. An id has 96 bits:
// among a million living communicators, two share an id with a probability below 2^-48.
// Headers carry the receiver's local index instead: the first message to a peer carries the id, and
// the peer answers with its index (pml). World and self have the fixed indices 1 and 2.
// Lifetime: a part of Communicator. Threads: the channel's lock. See:
// tests/unit/core/communicator_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership.hpp"

namespace tern::core {

/// Unique among the communicators of a process, and opaque except for the channel hint.
struct ContextId {
  uint64_t creator = 0;
  uint32_t counter = 0;
  bool operator==(const ContextId&) const = default;

  /// The channel's number, equal on all members. Siblings take channels in turn, so a program with
  /// a communicator per thread gets a channel per thread.
  [[nodiscard]] uint32_t channel_hint() const noexcept { return counter & kChannelHints; }
  static constexpr uint32_t kChannelHints = 255;
};

/// The cause of a derivation. The hash includes it, so different calls get different ids.
enum class Derivation : uint32_t {
  kDuplicate = 1,
  kSplit,
  kCreate,
  kCreateGroup,
  kFromGroup,
  kMeet,   // two groups form an inter-communicator
  kMerge,  // the two groups form one group again
  kSide,   // the local group of an inter-communicator
  kTopology,
  kSub,
  kWindow,  // the private communicator of a window
  kStream,  // the communicator of a stream's enqueued collectives
};

/// The id of a communicator derived from `parent`: `number` counts the derivations, `sibling` the
/// parts.
[[nodiscard]] ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                                       uint64_t sibling) noexcept;
/// The id of an inter-communicator of two groups, whatever their order.
[[nodiscard]] ContextId meet_contexts(ContextId one, ContextId other) noexcept;

/// A hash of `tag` and the members' ranks in `parent`, equal on all members.
[[nodiscard]] uint64_t digest_members(const Membership& parent, const Group& group,
                                      int tag) noexcept;

class ContextNames {
 public:
  static constexpr uint32_t kWorldIndex = 1, kSelfIndex = 2;

  ContextNames(Process& process, ContextId id, uint32_t index) noexcept;

  [[nodiscard]] Channel& channel() const noexcept { return channel_; }
  [[nodiscard]] ContextId id() const noexcept { return {creator_, counter_}; }
  /// This process's index of the context; arriving headers carry it.
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// For pml: messages may get an index before the communicator exists.
  void set_index(uint32_t index) noexcept { index_ = index; }
  /// The peer's index of this context; 0 until the peer announces it.
  [[nodiscard]] uint32_t remote_index(int rank) const noexcept {
    if (index_ == kWorldIndex || index_ == kSelfIndex) return index_;
    return remote_.empty() ? 0 : remote_[static_cast<size_t>(rank)];
  }
  void set_remote_index(int rank, int ranks, uint32_t index) {
    remote_.resize(static_cast<size_t>(ranks));
    remote_[static_cast<size_t>(rank)] = index;
  }

 private:
  Channel& channel_;
  const uint64_t creator_;
  const uint32_t counter_;
  uint32_t index_;
  std::vector<uint32_t> remote_;
};

}  // namespace tern::core
