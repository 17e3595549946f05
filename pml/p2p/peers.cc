// SPDX-License-Identifier: Apache-2.0
// Peers: first contacts.
#include "pml/p2p/peers.hpp"

#include <algorithm>
#include <iterator>

#include "base/error.hpp"

namespace tern::pml {

void PeerState::set_limits(const Limits& limits) noexcept {
  const auto most = [](size_t bytes, size_t room) {
    return static_cast<int64_t>(std::min(bytes, room));
  };
  const size_t direct =
      endpoint->caps.zero_copy == nullptr ? 0 : endpoint->caps.zero_copy->max_bytes;
  usual.eager = most(limits.eager, endpoint->max_payload() - kMostPrefix);
  usual.direct = direct == 0 ? -1 : most(limits.net_eager, direct);
  usual.now = direct == 0 ? usual.eager : most(limits.eager, kLeastDirect - 1);
  pace(true);
}

PeerState& Peers::contact(btl::Endpoint& endpoint) {
  peers_.push_back(std::make_unique<PeerState>(endpoint));
  PeerState& state = *peers_.back();
  state.set_limits(limits_);
  const size_t index = state.peer->index;
  if (index >= by_peer_.size()) by_peer_.resize(index + 1, nullptr);
  state.next = by_peer_[index];
  by_peer_[index] = &state;
  endpoint.state = &state;
  if (process_.explain.on()) explain_contact(state);
  return state;
}

bool Peers::lacks_living(const core::Communicator& other) const noexcept {
  if (process_.deaths.tolerated()) return false;
  for (int rank = 0; rank < other.peer_count(); ++rank) {
    const PeerState* const state = known(other, rank);
    if (state == nullptr || !state->fate.dead_locked()) return false;
  }
  return true;
}

Failure Peers::death_of(const core::Communicator& communicator, int rank) const {
  return failure(process_.deaths.lost_class(), "rank %d of %s has failed", rank,
                 communicator.name.or_words("the communicator").c_str());
}

void Peers::require_alive(const core::Communicator& communicator, int rank) const {
  if (process_.deaths.has(communicator.peer_index(rank))) throw Error(death_of(communicator, rank));
}

// A dead process may be unknown as such yet.
int Peers::cannot_connect(const core::Communicator& communicator, int rank,
                          const Error& why) const noexcept {
  core::FaultWatch* const watch = process_.deaths.watch;
  if (watch == nullptr || !watch->has_died(communicator.peer_index(rank))) return fail(why);
  return fail(death_of(communicator, rank));
}

PeerState* Peers::connect(core::Communicator& communicator, int rank, int* error) noexcept {
  try {
    require_alive(communicator, rank);
    return &contact(transports_.connect(communicator.peer(rank), communicator.id().channel_hint()));
  } catch (const Error& failure) {
    *error = cannot_connect(communicator, rank, failure);
    return nullptr;
  }
}

int Peers::require_reachable(const Envelope& from) noexcept {
  if (from.rank == MPI_ANY_SOURCE) return MPI_SUCCESS;
  if (const PeerState* state = known(*from.communicator, from.rank); TERN_LIKELY(state != nullptr))
    return TERN_UNLIKELY(state->fate.dead_locked()) ? state->fate.fail() : MPI_SUCCESS;
  try {
    require_alive(*from.communicator, from.rank);
    core::Peer& peer = from.communicator->peer(from.rank);
    if (transports_.require(peer).may_lose_peers() || peer.nspace != 0)
      contact(transports_.connect(peer, from.communicator->id().channel_hint()));
    return MPI_SUCCESS;
  } catch (const Error& failure) {
    return cannot_connect(*from.communicator, from.rank, failure);
  }
}

void Peers::forget(const core::Peer& peer) noexcept {
  if (peer.index < by_peer_.size()) by_peer_[peer.index] = nullptr;
  const auto of_others = std::stable_partition(
      peers_.begin(), peers_.end(), [&](const auto& state) { return state->peer != &peer; });
  std::move(of_others, peers_.end(), std::back_inserter(parted_));
  peers_.erase(of_others, peers_.end());
}

void Peers::add_up(Statistics* sums) const noexcept {
  for (const auto* all : {&peers_, &parted_})
    for (const auto& peer : *all) {
      const Traffic& sent = peer->sent;
      sums->eager += sent.eager;
      sums->eager_bytes += sent.eager_bytes;
      sums->announced += sent.announced;
      sums->announced_bytes += sent.announced_bytes;
      sums->in_fragments += sent.piped;
      sums->by_both_ends += sent.shared;
      sums->written_by_rdma += sent.put;
      sums->read_by_rdma += sent.got;
    }
}

}  // namespace tern::pml
