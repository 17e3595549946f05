// SPDX-License-Identifier: Apache-2.0
// Communicator: a group with a context.
// Lifetime: ends when the user has freed the handle and no operation is pending. The object stays
// for failed requests, whose errors are raised on the communicator.
// Threads: as the standard requires. Calls allowed concurrently on one communicator (create_group)
// take the channel's lock.
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

/// The collectives' state (cached schedules, slots), owned by the communicator.
struct CollState {
  virtual ~CollState() = default;
  /// Immutable measurements so far, inherited by new communicators; null if empty. Requires the
  /// channel's lock. Throws std::bad_alloc.
  [[nodiscard]] virtual Ref<Object> learnt() { return {}; }
};

struct StreamState {
  virtual ~StreamState() = default;
};

/// Counters of a communicator's collectives, equal on all ranks (coll/engine/refusal.hpp).
struct CollectiveNumbers {
  struct Count {
    uint32_t next = 0;    // collectives started, created or refused
    uint64_t recent = 0;  // a record of the latest calls: coll/engine/refusal.cc
  };
  Count started, persistent;
  uint32_t tags = 0;  // counts started collectives allowed to send; source of their tags

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
  /// Called by end(): the upper room forgets the context.
  using Ending = void (*)(Communicator&) noexcept;

  /// `rank` is the caller's rank in `group`. The constructor enters no handle table and registers
  /// no context (api::publish does). `remote` makes an inter-communicator.
  Communicator(Process& process, Ref<Group> group, int rank, ContextId id, uint32_t index,
               Ref<Group> remote = {}) noexcept;
  ~Communicator() override;

  /// Translates `rank` to the user's rank if this communicator is an internal part of the user's.
  [[nodiscard]] int named(int rank) const noexcept {
    return named_by ? named_by->rank_of(peer_index(rank)) : rank;
  }

  /// The last operation ends a freed communicator. Requires the channel's lock.
  void operation_ended() noexcept {
    if (--pending == 0 && freed) end();
  }
  /// A persistent request keeps the communicator alive after the user frees the handle. Requires
  /// the channel's lock.
  void keep_for_request() noexcept {
    ++pending;
    ++kept;
  }
  void request_ended() noexcept {
    --kept;
    operation_ended();
  }
  /// Releases the context, the collectives' state and the user's reference. Requires `freed`, no
  /// pending operation, and the channel's lock. Failed requests may still refer to the bare memory,
  /// and drop references under any lock or none.
  void end() noexcept;
  void free() noexcept {
    freed = true;
    if (pending == 0) end();  // otherwise the last operation calls end()
  }

  /// For collective derivations (dup, split, create); equal on all members.
  [[nodiscard]] uint64_t next_derivation() noexcept { return ++derivations_; }
  /// How many earlier create_groups had this digest of tag and members; equal on those members.
  [[nodiscard]] uint64_t next_creation(uint64_t digest);

  // Read for each message, in one cache line. MPIX_Comm_interrupt sets it: then this rank neither
  // sends nor receives on the communicator.
  Fate fate;
  std::unique_ptr<CollState> coll;
  int pending = 0;  // operations under way, plus `kept`; requires the channel's lock
  int kept = 0;
  bool freed = false;  // the user has freed the handle

  CollectiveNumbers numbers;
  std::unique_ptr<StreamState> stream;  // null unless MPIX_Stream_comm_create made the communicator
  Name name;
  Ref<ErrorHandler> error_handler;
  Attributes attributes;
  Ref<Info> info;
  std::shared_ptr<const Topology> topology;
  Ref<Group> named_by;     // of an internal part: the group whose ranks the user knows
  Ref<Object> session;     // the session it derives from; null for the world's
  Ref<Communicator> side;  // of an inter-communicator, made on demand: the local group's, on the
                           // same channel
  Ending ending = nullptr;
  Ref<Object> inherited;

 private:
  void leave_rooms() noexcept;
  void destroy() noexcept override;

  uint64_t derivations_ = 0;
  std::unordered_map<uint64_t, uint64_t> creations_;
};

/// Creates a communicator of `group` (a member is this process) with the parent's error handler.
/// Pml::add_context assigns the index. `remote` makes an inter-communicator.
[[nodiscard]] Ref<Communicator> derive_communicator(Communicator& parent, Ref<Group> group,
                                                    ContextId id, Ref<Group> remote = {});

/// Hands the collectives' measurements to `made`, which all ranks of `parent` created together. All
/// ranks inherit the same data without a message. Throws std::bad_alloc.
void pass_on_learnt(Communicator& parent, Communicator& made);

/// Creates MPI_COMM_WORLD, MPI_COMM_SELF and MPI_GROUP_EMPTY and enters them in the process's
/// handle table. Requires world_rank and world_size; uses the predefined error handlers if they
/// exist.
void make_predefined_communicators(Process& process);
/// Calls each `ending` and removes the handles. MPI_Finalize sends no message afterwards.
void end_predefined_communicators(Process& process) noexcept;

}  // namespace tern::core
