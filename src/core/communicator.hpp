// SPDX-License-Identifier: Apache-2.0
// Communicator: a group with a context of its own.
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

#include "base/fate.hpp"
#include "core/attribute.hpp"
#include "core/context.hpp"
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/membership.hpp"
#include "core/object_lock.hpp"
#include "core/process.hpp"

namespace tern::core {

class Topology;

/// The collectives' data of a communicator (cached schedules, slots); owned by the communicator.
struct CollState {
  virtual ~CollState() = default;
  /// The measurements up to now, for communicators made later; immutable. Null: none. Under the
  /// channel's lock. Throws std::bad_alloc.
  [[nodiscard]] virtual Ref<Object> learnt() { return {}; }
};

/// The streams' data of a communicator (src/stream); owned by the communicator, and ended under the
/// channel's lock.
struct StreamState {
  virtual ~StreamState() = default;
};

/// The numbers of a communicator's collectives, equal on all ranks (coll/engine/refusal.hpp).
struct CollectiveNumbers {
  struct Count {
    uint32_t next = 0;    // those started, or made, or refused
    uint64_t recent = 0;  // which they were, the last of them: coll/engine/refusal.cc
  };
  Count started, persistent;
  uint32_t tags = 0;  // of those started: those that may send; the tag of each

  [[nodiscard]] Count& of(bool is_persistent) noexcept {
    return is_persistent ? persistent : started;
  }
  [[nodiscard]] const Count& of(bool is_persistent) const noexcept {
    return is_persistent ? persistent : started;
  }
};

class alignas(64) Communicator final : public Object, public Membership, public ContextNames {
 public:
  static constexpr Kind kKind = Kind::kCommunicator;
  /// Called by end(): the room above forgets the context.
  using Ending = void (*)(Communicator&) noexcept;

  /// `rank` is the caller's in `group`. Enters no handle table and registers no context:
  /// api::publish does.
  /// With `remote` it is an inter-communicator.
  Communicator(Process& process, Ref<Group> group, int rank, ContextId id, uint32_t index,
               Ref<Group> remote = {}) noexcept;
  ~Communicator() override;

  /// What users call a rank of this communicator, where it is a part of theirs.
  [[nodiscard]] int named(int rank) const noexcept {
    return named_by ? named_by->rank_of(peer_index(rank)) : rank;
  }

  /// One operation less is pending: the last operation ends a freed communicator. Under the
  /// channel's lock.
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
  /// The user frees the handle. Under the channel's lock.
  void free() noexcept {
    freed = true;
    if (pending == 0) end();  // else its last operation does
  }

  /// The number of the next collective derivation (dup, split, create): equal on all members.
  [[nodiscard]] uint64_t next_derivation() noexcept { return ++derivations_; }
  /// How many create_groups had this digest (of tag and members) before: equal on those members.
  [[nodiscard]] uint64_t next_creation(uint64_t digest);

  // Of each message, in one cache line.
  /// MPIX_Comm_interrupt ends it: no message goes out or comes in any more in this rank.
  Fate fate;
  std::unique_ptr<CollState> coll;
  int pending = 0;     // operations under way, and kept; under the channel's lock
  int kept = 0;        // persistent requests that were made for it
  bool freed = false;  // the user's handle is gone; pending operations keep it alive

  CollectiveNumbers numbers;
  std::unique_ptr<StreamState> stream;  // null but for those of MPIX_Stream_comm_create
  Name name;
  Ref<ErrorHandler> error_handler;
  Attributes attributes;
  Ref<Info> info;                            // the hints that are set
  std::shared_ptr<const Topology> topology;  // null for none
  Ref<Group> named_by;                       // of a part: the group whose ranks users know
  Ref<Object> session;                       // that it comes from; null for the world's
  Ref<Communicator> side;  // of an inter-communicator, once it is needed: the own group's, in the
                           // same channel
  Ending ending = nullptr;
  Ref<Object> inherited;  // by pass_on_learnt(); null: none

 private:
  void leave_rooms() noexcept;
  void destroy() noexcept override;

  uint64_t derivations_ = 0;
  std::unordered_map<uint64_t, uint64_t> creations_;
};

/// A communicator of `group` (which has this process) with the parent's error handler, and without
/// an index: Pml::add_context gives it one; with `remote` an inter-communicator.
[[nodiscard]] Ref<Communicator> derive_communicator(Communicator& parent, Ref<Group> group,
                                                    ContextId id, Ref<Group> remote = {});

/// `made` comes from a call of all ranks of `parent`: the measurements of collectives go along,
/// alike on all ranks, without a message. Throws std::bad_alloc.
void pass_on_learnt(Communicator& parent, Communicator& made);

/// Makes MPI_COMM_WORLD, MPI_COMM_SELF and MPI_GROUP_EMPTY of the process and enters them in its
/// handle table. Needs world_rank and world_size; the predefined error handlers are used where they
/// are there.
void make_predefined_communicators(Process& process);
/// Takes them out again (their `ending` is called where set). The last step of MPI_Finalize that
/// uses messages is past.
void end_predefined_communicators(Process& process) noexcept;

}  // namespace tern::core
