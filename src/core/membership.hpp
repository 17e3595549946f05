// SPDX-License-Identifier: Apache-2.0
// Membership: a rank's place in a group, and an inter-communicator's other group. Cost: one cache
// line, together with the first members of ContextNames.
#pragma once

#include <atomic>
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
  [[nodiscard]] bool has_failed_member() const noexcept {
    return TERN_UNLIKELY(process_.deaths.count() != 0) &&
           (any_failed(*group_, 0) || (remote_ && any_failed(*remote_, 0)));
  }
  /// MPIX_Comm_ack_failed acknowledges a prefix of process().deaths. A failed possible sender
  /// without acknowledgement ends receives from any source.
  [[nodiscard]] uint32_t acked() const noexcept { return acked_.load(std::memory_order_relaxed); }
  void ack(uint32_t deaths) noexcept { acked_.store(deaths, std::memory_order_relaxed); }
  [[nodiscard]] bool lacks_ack() const noexcept {
    return TERN_UNLIKELY(process_.deaths.count() > acked()) && any_failed(target(), acked());
  }
  [[nodiscard]] uint32_t peer_index(int rank) const {
    return identity_ ? static_cast<uint32_t>(rank) : target().peer_index(rank);
  }

  /// Some members of different worlds on a host share no memory; equal on all members.
  bool apart = false;

 private:
  [[nodiscard]] bool any_failed(const Group& group, uint32_t from) const noexcept {
    for (uint32_t i = process_.deaths.count(); i > from; --i)
      if (group.rank_of(process_.deaths.at(i - 1)) != MPI_UNDEFINED) return true;
    return false;
  }

  Process& process_;
  const Ref<Group> group_, remote_;
  const int rank_, size_;
  const bool identity_;
  std::atomic<uint32_t> acked_{0};
};

}  // namespace tern::core
