// SPDX-License-Identifier: Apache-2.0
// Context ids, and ContextNames: how messages name the communicator to which they belong.
// What is made on all members of a communicator, in the same order (as the standard
// demands), gets the same id everywhere without a message: a hash of the parent's id, of how many
// were derived before, and of what tells siblings apart. So dup, create and create_group send
// nothing. An id is 96 bits; a process with a million communicators alive meets two equal ones with
// a chance below 2^-48. On the wire travels the receiver's local index of it: the first message to
// a peer carries the id, the peer answers with its index (pml). World and self have the fixed
// indices 1 and 2.
// Lifetime: ContextNames is a part of a Communicator. Threads: the channel's lock.
// See: tests/unit/core/communicator_test.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership.hpp"

namespace tern::core {

/// Unique among the communicators that a process is a member of. Compared, never taken apart but
/// for the channel hint.
struct ContextId {
  uint64_t creator = 0;
  uint32_t counter = 0;
  bool operator==(const ContextId&) const = default;

  /// Which channel serves it, on every member: what is derived from one communicator goes round, so
  /// that a program with a communicator for each thread has a channel for each.
  [[nodiscard]] uint32_t channel_hint() const noexcept { return counter & kChannelHints; }
  static constexpr uint32_t kChannelHints = 255;
};

/// Why a communicator was derived; part of the hash, so that different calls never meet.
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

/// The id of what is derived from `parent`: `number` counts the derivations, `sibling` tells parts
/// apart.
[[nodiscard]] ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                                       uint64_t sibling) noexcept;
/// The id of what two groups make that have nothing but these ids; the order does not count.
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
  /// This process's index of the context (arriving headers name it).
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// pml: messages for this id that came before the communicator was made have chosen its index.
  void set_index(uint32_t index) noexcept { index_ = index; }
  /// The index by which the peer of `rank` knows this context; 0 until it has told us.
  [[nodiscard]] uint32_t remote_index(int rank) const noexcept {
    if (index_ == kWorldIndex || index_ == kSelfIndex) return index_;
    return remote_.empty() ? 0 : remote_[static_cast<size_t>(rank)];
  }
  /// Of one of so many `ranks`. Throws std::bad_alloc.
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
