// SPDX-License-Identifier: Apache-2.0
// Membership: a rank's place in a group, and an inter-communicator's other group. Cost: one cache
// line, together with the first members of ContextNames.
#pragma once

#include <cstdint>
#include <utility>

#include "core/group.hpp"
#include "core/process.hpp"

namespace tern::core {

class alignas(64) Membership {
 public:
  Membership(Process& process, Ref<Group> group, int rank, Ref<Group> remote) noexcept
      : process_(process),
        group_(std::move(group)),
        remote_(std::move(remote)),
        rank_(rank),
        size_(group_->size()),
        identity_(target().identity()) {}

  [[nodiscard]] Process& process() const noexcept { return process_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int peer_count() const noexcept { return remote_ ? remote_->size() : size_; }
  [[nodiscard]] bool inter() const noexcept { return static_cast<bool>(remote_); }
  [[nodiscard]] Group& group() const noexcept { return *group_; }
  [[nodiscard]] Group* remote_group() const noexcept { return remote_.get(); }
  [[nodiscard]] const Group& target() const noexcept { return remote_ ? *remote_ : *group_; }
  [[nodiscard]] Peer& peer(int rank) const { return process_.peer(peer_index(rank)); }
  [[nodiscard]] uint32_t peer_index(int rank) const {
    return identity_ ? static_cast<uint32_t>(rank) : target().peer_index(rank);
  }

  /// Some members of different worlds on a host share no memory; equal on all members.
  bool apart = false;

 private:
  Process& process_;
  const Ref<Group> group_, remote_;
  const int rank_, size_;
  const bool identity_;
};

}  // namespace tern::core
