// SPDX-License-Identifier: Apache-2.0
// Communicator: a group with a context.
// Lifetime: ends when freed and without pending operations. The object stays for failed requests,
// whose errors are raised on the communicator. Threads: calls allowed concurrently (create_group)
// take the channel's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

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

struct CollState {
  virtual ~CollState() = default;
  /// learnt() returns measurements for new communicators, or null. Requires the channel's lock.
  [[nodiscard]] virtual Ref<Object> learnt() { return {}; }
};

struct StreamState {
  virtual ~StreamState() = default;
};

/// CollectiveNumbers are equal on all ranks (coll/engine/refusal.hpp).
struct CollectiveNumbers {
  struct Count {
    uint32_t next = 0;
    uint64_t recent = 0;
  };
  Count started, persistent;
  uint32_t tags = 0;

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
  using Ending = void (*)(Communicator&) noexcept;

  /// `rank` is the caller's in `group`. api::publish adds handle and context. `remote` makes an
  /// inter-communicator.
  Communicator(Process& process, Ref<Group> group, int rank, ContextId id, uint32_t index,
               Ref<Group> remote = {}) noexcept;
  ~Communicator() override;

  /// named() returns the rank in the user's communicator, of which this communicator may be an
  /// internal part.
  [[nodiscard]] int named(int rank) const noexcept {
    return named_by ? named_by->rank_of(peer_index(rank)) : rank;
  }

  /// operation_ended() requires the channel's lock.
  void operation_ended() noexcept {
    if (--pending == 0 && freed) end();
  }
  /// keep_for_request() keeps the communicator after free(), and requires the channel's lock.
  void keep_for_request() noexcept {
    ++pending;
    ++kept;
  }
  void request_ended() noexcept {
    --kept;
    operation_ended();
  }
  /// end() requires the channel's lock, and no pending operation. Failed requests may keep
  /// references to the bare memory.
  void end() noexcept;
  void free() noexcept {
    freed = true;
    if (pending == 0) end();
  }

  /// next_derivation() is equal on all members (dup, split, create).
  [[nodiscard]] uint64_t next_derivation() noexcept { return ++derivations_; }
  /// next_creation() counts the create_groups with this digest, and is equal on the members.
  [[nodiscard]] uint64_t next_creation(uint64_t digest);

  // Every message checks the fate. MPIX_Comm_interrupt ends the communicator on this rank.
  Fate fate;
  std::unique_ptr<CollState> coll;
  int pending = 0;  // operations and `kept`; requires the channel's lock
  int kept = 0;
  bool freed = false;

  CollectiveNumbers numbers;
  std::unique_ptr<StreamState> stream;
  Name name;
  Ref<ErrorHandler> error_handler;
  Attributes attributes;
  Ref<Info> info;
  std::shared_ptr<const Topology> topology;
  Ref<Group> named_by;  // the user's group, for an internal part
  Ref<Object> session;
  Ref<Communicator> side;  // local side of an inter-communicator, made on demand
  Ending ending = nullptr;
  Ref<Object> inherited;
  std::vector<uint32_t> strangers;  // peers of other worlds, held until the end
  /// Equal answers on all members about a pair.
  [[nodiscard]] bool shares_memory_with(int rank) const noexcept;

 private:
  void leave_rooms() noexcept;
  void destroy() noexcept override;

  uint64_t derivations_ = 0;
  std::unordered_map<uint64_t, uint64_t> creations_;
};

/// derive_communicator() passes on the parent's error handler. `remote` makes an
/// inter-communicator.
[[nodiscard]] Ref<Communicator> derive_communicator(Communicator& parent, Ref<Group> group,
                                                    ContextId id, Ref<Group> remote = {});

/// pass_on_learnt() needs no message, because all ranks of `parent` create `made`.
void pass_on_learnt(Communicator& parent, Communicator& made);

void make_predefined_communicators(Process& process);
/// No message may follow end_predefined_communicators().
void end_predefined_communicators(Process& process) noexcept;

}  // namespace tern::core
