// SPDX-License-Identifier: Apache-2.0
// ContextId, ContextNames: the id and the indices of a communicator.
// Ids: all members derive communicators in the same order, so each computes an id without a
// message: a hash of the parent's id, the count of derivations, and a sibling number. An id has 96
// bits: among a million communicators, two collide with a probability below 2^-48.
// Threads: the channel's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "core/membership.hpp"
#include "trace/notes.hpp"

namespace tern::core {

/// A ContextId is unique in a process, and opaque except for the channel hint.
struct ContextId {
  uint64_t creator = 0;
  uint32_t counter = 0;
  bool operator==(const ContextId&) const = default;

  /// The hint is equal on all members. Siblings take channels in turn, so a communicator per thread
  /// means a channel per thread.
  [[nodiscard]] uint32_t channel_hint() const noexcept { return counter & kChannelHints; }
  static constexpr uint32_t kChannelHints = 255;
};

/// The derivation is hashed, so different calls get different ids.
enum class Derivation : uint32_t {
  kDuplicate = 1,
  kSplit,
  kCreate,
  kCreateGroup,
  kFromGroup,
  kMeet,
  kMerge,
  kSide,
  kTopology,
  kSub,
  kWindow,
  kFile,
  kStream,  // for a stream's enqueued collectives
  kShrink,
  kAgree,  // for the messages of agreements
};

/// `number` counts the derivations, `sibling` the parts.
[[nodiscard]] ContextId derive_context(ContextId parent, Derivation why, uint64_t number,
                                       uint64_t sibling) noexcept;
[[nodiscard]] ContextId meet_contexts(ContextId one, ContextId other) noexcept;

/// digest_members() is equal on all members.
[[nodiscard]] uint64_t digest_members(const Membership& parent, const Group& group,
                                      int tag) noexcept;

class ContextNames {
 public:
  static constexpr uint32_t kWorldIndex = 1, kSelfIndex = 2;

  ContextNames(Process& process, ContextId id, uint32_t index) noexcept;

  trace::CommNotesPlace notes;

  [[nodiscard]] Channel& channel() const noexcept { return channel_; }
  [[nodiscard]] ContextId id() const noexcept { return {creator_, counter_}; }
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// A context may have an index before the communicator exists.
  void set_index(uint32_t index) noexcept { index_ = index; }
  /// remote_index() is 0 until the peer announces an index.
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
