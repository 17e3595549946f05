// SPDX-License-Identifier: Apache-2.0
// Peers: the channel state of a communicator's ranks.
#pragma once

#include <memory>
#include <vector>

#include "btl/table.hpp"
#include "core/peer.hpp"
#include "pml/limits.hpp"
#include "pml/requests.hpp"

namespace tern::pml {

class Peers {
 public:
  Peers(core::Process& process, btl::Table& transports, const Limits& limits) noexcept
      : process_(process), transports_(transports), limits_(limits) {}

  PeerState& contact(btl::Endpoint& endpoint);

  /// known() returns null before first contact.
  [[nodiscard]] PeerState* known(const core::Communicator& communicator, int rank) const noexcept {
    const size_t index = communicator.peer_index(rank);
    PeerState* state = index < by_peer_.size() ? by_peer_[index] : nullptr;
    while (state != nullptr && !state->endpoint->to.serves(communicator.id().channel_hint()))
      state = state->next;
    return state;
  }
  PeerState* connected(core::Communicator& communicator, int rank, int* error) noexcept {
    PeerState* state = known(communicator, rank);
    return TERN_LIKELY(state != nullptr) ? state : connect(communicator, rank, error);
  }
  /// connected() and require_reachable() fail with fail() text if the rank is unreachable.
  [[nodiscard]] int require_reachable(const Envelope& from) noexcept;

  [[nodiscard]] bool is_lost(const Envelope& from) const noexcept {
    if (from.rank == MPI_ANY_SOURCE)
      return from.communicator->lacks_ack() || all_lost(*from.communicator);
    const PeerState* const state = known(*from.communicator, from.rank);
    if (TERN_UNLIKELY(state == nullptr))
      return process_.deaths.has(static_cast<uint32_t>(from.communicator->peer_index(from.rank)));
    return state->fate.dead_locked();
  }

  /// Without fault tolerance: the other group has no living rank, so no message can come.
  [[nodiscard]] bool all_lost(const core::Communicator& communicator) const noexcept {
    return TERN_UNLIKELY(any_lost_) && communicator.inter() && lacks_living(communicator);
  }
  void note_loss() noexcept { any_lost_ = true; }

  template <class Use>
  void for_each(uint32_t peer_index, const Use& use) {
    if (peer_index >= by_peer_.size()) return;
    for (PeerState* state = by_peer_[peer_index]; state != nullptr; state = state->next)
      use(*state);
  }

  /// The peer has no messages left.
  void forget(const core::Peer& peer) noexcept;

  void add_up(Statistics* sums) const noexcept;
  void explain_traffic() const noexcept;

 private:
  PeerState* connect(core::Communicator& communicator, int rank, int* error) noexcept;
  [[nodiscard]] TERN_COLD bool lacks_living(const core::Communicator& other) const noexcept;
  [[nodiscard]] Failure death_of(const core::Communicator& communicator, int rank) const;
  [[nodiscard]] TERN_COLD int cannot_connect(const core::Communicator& communicator, int rank,
                                             const Error& why) const noexcept;
  /// Throws Error.
  void require_alive(const core::Communicator& communicator, int rank) const;
  TERN_COLD void explain_contact(const PeerState& peer) const noexcept;

  core::Process& process_;
  btl::Table& transports_;
  const Limits& limits_;
  std::vector<std::unique_ptr<PeerState>> peers_;
  std::vector<std::unique_ptr<PeerState>> parted_;  // unexpected messages may refer to them
  std::vector<PeerState*> by_peer_;
  bool any_lost_ = false;
};

}  // namespace tern::pml
