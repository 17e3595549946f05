// SPDX-License-Identifier: Apache-2.0
// Communicator: a group with a context of its own.
// Context ids: a communicator is (creator, counter), unique without agreement: the creator is the peer that leads
// its creation. On the wire travels the receiver's local index of it: the first message to a peer carries the
// long id, the peer answers with its index (pml/context.hpp). World and self have the fixed indices 1 and 2.
// Lifetime: reference counted: the user's handle, and every request on it. Threads: as the standard says.
// See: MPI-5.0 chapter 7; tests/unit/core/communicator_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/group.hpp"
#include "core/object.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"

namespace tern::core {

class Attributes;
class ErrorHandler;
class Info;

/// Unique in the job: who led the creation (namespace 16 bits | rank 32 bits: see make_creator) and its count.
struct ContextId {
  uint64_t creator = 0;
  uint32_t counter = 0;
  bool operator==(const ContextId&) const = default;
};

/// What the collectives' room keeps per communicator (cached schedules, slots); owned by the communicator.
struct CollState {
  virtual ~CollState() = default;
};

class Communicator final : public Object {
 public:
  static constexpr Kind kKind = Kind::kCommunicator;
  static constexpr uint32_t kWorldIndex = 1;
  static constexpr uint32_t kSelfIndex = 2;

  /// `rank` is the caller's in `group`. Enters no handle table and registers no context: core/communicator.cc does.
  Communicator(Process& process, Ref<Group> group, int rank, ContextId id, uint32_t index) noexcept;
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

  /// The peer behind a destination or source rank (of the remote group for an inter-communicator).
  [[nodiscard]] Peer& peer(int rank) const {
    return process_.peer(identity_ ? static_cast<uint32_t>(rank) : target().peer_index(rank));
  }
  [[nodiscard]] const Group& target() const noexcept { return remote_ ? *remote_ : *group_; }

  /// This process's index of the context (arriving headers name it).
  [[nodiscard]] uint32_t index() const noexcept { return index_; }
  /// The index by which the peer of `rank` knows this context; 0 until it has told us.
  [[nodiscard]] uint32_t remote_index(int rank) const noexcept {
    if (uniform_) return index_;
    return remote_index_.empty() ? 0 : remote_index_[static_cast<size_t>(rank)];
  }
  void set_remote_index(int rank, uint32_t index);

  std::string name;
  Ref<ErrorHandler> error_handler;
  Attributes* attributes = nullptr;
  Ref<Info> info;
  std::unique_ptr<CollState> coll;
  uint32_t coll_sequence = 0;  // collectives started on it; the tag of each
  bool freed = false;          // the user's handle is gone; pending operations keep it alive

 private:
  friend class CommunicatorBuilder;  // core/communicator.cc
  Process& process_;
  Ref<Group> group_, remote_;
  int rank_, size_;
  ContextId id_;
  uint32_t index_;
  bool uniform_ = false;   // every member has the same index (world, self)
  bool identity_ = false;  // rank r is peer r
  std::vector<uint32_t> remote_index_;
};

/// Makes MPI_COMM_WORLD and MPI_COMM_SELF of the process and enters them in its handle table.
void make_predefined_communicators(Process& process);

}  // namespace tern::core
