// SPDX-License-Identifier: Apache-2.0
// Context ids; ContextNames: a communicator's names in messages.
// Ids: all members of a communicator derive others in the same order, as the standard demands, and
// each member computes the id of a derived one without a message: a hash of the parent's id, the
// number of earlier derivations, and a number of the sibling. Hence dup, create and create_group
// send nothing. An id has 96 bits; two of a million living communicators have equal ids with a
// chance below 2^-48. Headers carry the receiver's local index instead: the first message to a peer
// carries the id, the peer answers with its index (pml). World and self have the fixed indices 1
// and 2.
// Lifetime: ContextNames is a part of a Communicator. Threads: the channel's lock.
// See: tests/unit/core/communicator_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership.hpp"

namespace tern::core {

/// Unique among the communicators of a process. Opaque, except for the channel hint.
struct ContextId {
  uint64_t creator = 0;
  uint32_t counter = 0;
  bool operator==(const ContextId&) const = default;

  /// The channel's number, the same on every member: siblings get channels in turn, hence a program
  /// with a communicator for each thread has a channel for each.
  [[nodiscard]] uint32_t channel_hint() const noexcept { return counter & kChannelHints; }
  static constexpr uint32_t kChannelHints = 255;
};

/// The cause of a derivation; part of the hash, hence different calls get different ids.
enum class Derivation : uint32_t {
  kDuplicate = 1,
  kSplit,
  kCreate,
  kCreateGroup,
  kFromGroup,
  kMeet,   // two groups become an inter-communicator
  kMerge,  // and one group again
  kSide,   // the own group of an inter-communicator
  kTopology,
  kSub,
  kWindow,  // of one-sided communication: serves the window alone
  kStream,  // of enqueued collectives: serves the communicator of a stream
};

/// The id of a communicator derived from `parent`: `number` counts the derivations, `sibling` the
/// parts.
[[nodiscard]] ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                                       uint64_t sibling) noexcept;
/// The id of an inter-communicator of two groups with only these ids; the order does not count.
[[nodiscard]] ContextId meet_contexts(ContextId one, ContextId other) noexcept;

/// A hash of `tag` and of the members' ranks in `parent`, in order: equal on all members.
[[nodiscard]] uint64_t digest_members(const Membership& parent, const Group& group,
                                      int tag) noexcept;

class ContextNames {
 public:
  /// The same on every member.
  static constexpr uint32_t kWorldIndex = 1, kSelfIndex = 2;

  ContextNames(Process& process, ContextId id, uint32_t index) noexcept;

  [[nodiscard]] Channel& channel() const noexcept { return channel_; }
  [[nodiscard]] ContextId id() const noexcept { return {creator_, counter_}; }
  /// This process's index of the context, in arriving headers.
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// pml: messages may come, and get an index, before the communicator is made.
  void set_index(uint32_t index) noexcept { index_ = index; }
  /// The peer's index of this context; 0 until the peer has told its index.
  [[nodiscard]] uint32_t remote_index(int rank) const noexcept {
    if (index_ == kWorldIndex || index_ == kSelfIndex) return index_;
    return remote_.empty() ? 0 : remote_[static_cast<size_t>(rank)];
  }
  /// `ranks`: the number of peers. Throws std::bad_alloc.
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
