// SPDX-License-Identifier: Apache-2.0
// Communicator: a group with a context of its own.
// Context ids: what is made on all members of a communicator, in the same order (as the standard
// demands), gets the same id everywhere without a message: a hash of the parent's id, of how many
// were derived before, and of what tells siblings apart. So dup, create and create_group send
// nothing. An id is 96 bits; a process with a million communicators alive meets two equal ones with
// a chance below 2^-48. On the wire travels the receiver's local index of it: the first message to
// a peer carries the id, the peer answers with its index (pml). World and self have the fixed
// indices 1 and 2.
// Lifetime: ends when the user has freed it and no operation is pending, whichever comes last; the
// object itself stays for requests that have failed, whose errors are raised on it.
// Threads: as the standard says; what threads may do at the same time on one communicator
// (create_group) takes the channel's lock.
// See: MPI-5.0 chapter 7; tests/unit/core/communicator_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fate.hpp"
#include "core/attribute.hpp"
#include "core/error_handler.hpp"
#include "core/group.hpp"
#include "core/info.hpp"
#include "core/object_lock.hpp"
#include "core/process.hpp"

namespace tern::core {

class Topology;

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

/// What the collectives' room keeps per communicator (cached schedules, slots); owned by the
/// communicator.
struct CollState {
  virtual ~CollState() = default;
};

/// What the streams' room keeps of a communicator with a stream (src/stream); owned by the
/// communicator, and ended under the channel's lock.
struct StreamState {
  virtual ~StreamState() = default;
};

class alignas(64) Communicator final : public Object {
 public:
  static constexpr Kind kKind = Kind::kCommunicator;
  static constexpr uint32_t kWorldIndex = 1;
  static constexpr uint32_t kSelfIndex = 2;
  /// Called by end(): the room above forgets the context.
  using Ending = void (*)(Communicator&) noexcept;

  /// `rank` is the caller's in `group`. Enters no handle table and registers no context:
  /// api::publish does.
  /// With `remote` it is an inter-communicator.
  Communicator(Process& process, Ref<Group> group, int rank, ContextId id, uint32_t index,
               Ref<Group> remote = {}) noexcept;
  ~Communicator() override;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Ranks that a destination or source may name: the remote group's for an inter-communicator.
  [[nodiscard]] int peer_count() const noexcept { return remote_ ? remote_->size() : size_; }
  [[nodiscard]] bool inter() const noexcept { return static_cast<bool>(remote_); }
  [[nodiscard]] Group& group() const noexcept { return *group_; }
  [[nodiscard]] Group* remote_group() const noexcept { return remote_.get(); }
  [[nodiscard]] Process& process() const noexcept { return process_; }
  [[nodiscard]] ContextId id() const noexcept { return id_; }
  [[nodiscard]] Channel& channel() const noexcept { return channel_; }

  /// The peer behind a destination or source rank (of the remote group for an inter-communicator).
  [[nodiscard]] Peer& peer(int rank) const { return process_.peer(peer_index(rank)); }
  [[nodiscard]] uint32_t peer_index(int rank) const {
    return identity_ ? static_cast<uint32_t>(rank) : target().peer_index(rank);
  }
  /// What users call a rank of this communicator, where it is a part of theirs.
  [[nodiscard]] int named(int rank) const noexcept {
    return named_by ? named_by->rank_of(peer_index(rank)) : rank;
  }
  [[nodiscard]] const Group& target() const noexcept { return remote_ ? *remote_ : *group_; }

  /// This process's index of the context (arriving headers name it).
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// pml: messages for this id that came before the communicator was made have chosen its index.
  void set_index(uint32_t index) noexcept { index_ = index; }
  /// The index by which the peer of `rank` knows this context; 0 until it has told us.
  [[nodiscard]] uint32_t remote_index(int rank) const noexcept {
    if (uniform_) return index_;
    return remote_index_.empty() ? 0 : remote_index_[static_cast<size_t>(rank)];
  }
  void set_remote_index(int rank, uint32_t index);

  /// One operation less is pending: the last one ends what the user has freed. Under the channel's
  /// lock.
  void operation_ended() noexcept {
    if (--pending == 0 && freed) end();
  }
  /// A persistent request is made for it, or ends: the user may free it in between. Under the
  /// channel's lock.
  void keep_for_request() noexcept {
    ++pending;
    ++kept;
  }
  void request_ended() noexcept {
    --kept;
    operation_ended();
  }
  /// Freed, and nothing is pending: its context and what collectives keep for it go, and the user's
  /// reference. Further references (of requests that have failed) are to memory alone, and are let
  /// go of under any lock or none. Under the channel's lock.
  void end() noexcept;

  /// The number of the next collective derivation (dup, split, create): equal on all members.
  [[nodiscard]] uint64_t next_derivation() noexcept { return ++derivations_; }
  /// How many create_groups had this digest (of tag and members) before: equal on those members.
  [[nodiscard]] uint64_t next_creation(uint64_t digest);

  /// MPIX_Comm_interrupt ends it: no message goes out or comes in any more in this rank.
  Fate fate;
  Name name;
  Ref<ErrorHandler> error_handler;
  Attributes attributes;
  Ref<Info> info;                            // the hints that are set
  std::shared_ptr<const Topology> topology;  // null for none
  Ref<Group> named_by;                       // of a part: the group whose ranks users know
  Ref<Object> session;                       // that it comes from; null for the world's
  Ref<Communicator> side;  // of an inter-communicator, once it is needed: the own group's, in the
                           // same channel
  std::unique_ptr<CollState> coll;
  std::unique_ptr<StreamState> stream;  // null but for those of MPIX_Stream_comm_create
  uint32_t coll_sequence = 0;           // collectives started on it, or refused
  uint32_t coll_tags = 0;               // of these, those that may send; the tag of each
  uint32_t coll_persistent = 0;         // persistent ones made for it; likewise
  // Which they were, the last of each: coll/engine/refusal.cc.
  uint64_t coll_recent = 0, coll_recent_persistent = 0;
  bool freed = false;  // the user's handle is gone; pending operations keep it alive
  int pending = 0;     // operations under way, and kept; under the channel's lock
  int kept = 0;        // persistent requests that were made for it
  Ending ending = nullptr;

 private:
  friend void make_predefined_communicators(Process& process);
  void leave_rooms() noexcept;
  void destroy() noexcept override;

  Process& process_;
  Channel& channel_;
  Ref<Group> group_, remote_;
  int rank_, size_;
  ContextId id_;
  uint32_t index_;
  bool uniform_ = false;   // every member has the same index (world, self)
  bool identity_ = false;  // rank r is peer r
  uint64_t derivations_ = 0;
  std::vector<uint32_t> remote_index_;
  std::unordered_map<uint64_t, uint64_t> creations_;
};

/// A communicator of `group` (which has this process) with the parent's error handler, and without
/// an index: Pml::add_context gives it one; with `remote` an inter-communicator.
[[nodiscard]] Ref<Communicator> derive_communicator(Communicator& parent, Ref<Group> group,
                                                    ContextId id, Ref<Group> remote = {});

/// A hash of `tag` and of the members' ranks in `parent`, in order: equal on all members.
[[nodiscard]] uint64_t digest_members(const Communicator& parent, const Group& group,
                                      int tag) noexcept;

/// Makes MPI_COMM_WORLD, MPI_COMM_SELF and MPI_GROUP_EMPTY of the process and enters them in its
/// handle table. Needs world_rank and world_size; the predefined error handlers are used where they
/// are there.
void make_predefined_communicators(Process& process);
/// Takes them out again (their `ending` is called where set). The last step of MPI_Finalize that
/// uses messages is past.
void end_predefined_communicators(Process& process) noexcept;

}  // namespace tern::core
