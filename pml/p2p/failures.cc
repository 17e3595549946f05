// SPDX-License-Identifier: Apache-2.0
// Lost peers and interrupted communicators. Complete messages, receives from any source, and other
// peers are unaffected.
#include "base/attempt.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
#include "mpix.h"
#include "pml/p2p/p2p.hpp"

namespace tern::pml {
namespace {

std::string host_of(core::Process& process, const core::Peer& peer) {
  if (peer.nspace != 0) return "a host of another world";
  try {
    return process.boot->host(static_cast<int>(peer.rank));
  } catch (const Error&) {
    return "an unknown host";
  }
}

bool is_open(const SendRequest& request) noexcept { return !request.done(); }
bool is_open(const RecvRequest& request) noexcept { return !request.done() || request.pends; }

/// The loop uses indices, because ending a request may start others.
template <class Request>
void for_active(const std::vector<std::unique_ptr<Request>>& all, auto&& condition,
                auto&& action) noexcept {
  for (size_t i = 0; i < all.size(); ++i) {
    Request& one = *all[i];
    if (is_open(one) && one.active() && condition(one)) action(one);
  }
}

}  // namespace

Failure unacknowledged(const core::Communicator& communicator) {
  const core::Deaths& deaths = communicator.process().deaths;
  int rank = MPI_UNDEFINED;
  for (uint32_t i = communicator.acked(); i < deaths.count() && rank == MPI_UNDEFINED; ++i)
    rank = communicator.target().rank_of(deaths.at(i));
  return tern::failure(MPIX_ERR_PROC_FAILED,
                       "rank %d of %s, a possible sender, has failed; MPIX_Comm_ack_failed "
                       "allows further receives from any source",
                       rank, communicator.name.or_words("the communicator").c_str());
}

void MessageEngine::lose(PeerState& peer, const Failure& why) noexcept {
  peer.fate.end(why);
  peer.endpoint->give_up(why.text);
  peers.note_loss();
  peer.pace(false);
  outbox.drop(peer);
}

/// `waits` tells whether a posted receive waits for the peer.
template <class Waits>
void MessageEngine::end_operations(uint32_t peer_index, const Failure& why,
                                   const Waits& waits) noexcept {
  for_active(
      requests.sends(),
      [&](const SendRequest& one) {
        return one.peer != nullptr && one.peer->fate.dead_locked() &&
               one.peer->peer->index == peer_index;
      },
      [&](SendRequest& send) { transfers.abandon(send, why); });
  for_active(
      requests.receives(),
      [&](const RecvRequest& one) {
        return one.large ? one.peer->fate.dead_locked() && one.peer->peer->index == peer_index
                         : Posted<RecvRequest>::holds(one) && waits(one);
      },
      [&](RecvRequest& receive) {
        matcher.unpost(receive);
        transfers.abandon(receive, why);
      });
}

// A rank that has given up a collective leaves other members waiting, so all internal receives on
// the communicator end.
void MessageEngine::lose(uint32_t peer_index, const Failure& why) noexcept {
  constexpr int kMostRounds = 1000;
  for (int i = 0; i < kMostRounds && transports.progress() != 0; ++i) continue;
  peers.for_each(peer_index, [&](PeerState& peer) {
    if (!peer.fate.dead_locked()) lose(peer, why);
  });
  const auto has_peer = [&](const core::Communicator& one) {
    return one.target().rank_of(peer_index) != MPI_UNDEFINED ||
           one.group().rank_of(peer_index) != MPI_UNDEFINED;
  };
  end_operations(peer_index, why, [&](const RecvRequest& one) {
    if (one.from.rank == MPI_ANY_SOURCE) return false;
    if (one.from.plane != Plane::kUser && one.from.plane != Plane::kPartitioned)
      return has_peer(*one.from.communicator);
    return one.from.communicator->peer_index(one.from.rank) == peer_index;
  });
  for_active(
      requests.receives(),
      [&](const RecvRequest& one) {
        return !one.pends && may_pend(one) && one.from.communicator->lacks_ack();
      },
      [&](RecvRequest& receive) { pend(receive); });
  channel.progress.wake();
}

void MessageEngine::pend(RecvRequest& request) noexcept {
  const Failure why = unacknowledged(*request.from.communicator);
  if (request.blocking) {
    matcher.unpost(request);
    return transfers.abandon(request, why);
  }
  set_error_text(request, why.text + "; the receive is still pending");
  request.outcome.error = MPIX_ERR_PROC_FAILED_PENDING;
  request.pends = true;
  request.complete();
}

void P2p::lose(uint32_t peer_index, const Failure& why) noexcept { engine.lose(peer_index, why); }

void P2p::resume_pending(core::Communicator& of) noexcept {
  for (const auto& one : engine.requests.receives())
    if (one->pends && one->communicator == &of) one->resume();
}

bool P2p::tell_revoked(core::Communicator& of, int rank, const core::ContextId& revoked) noexcept {
  int error = MPI_SUCCESS;
  PeerState* const peer = engine.peers.connected(of, rank, &error);
  if (peer == nullptr) {
    (void)take_last_error();
    return false;
  }
  if (!peer->fate.dead_locked())
    engine.outbox.send_control(*peer, wire::kRevoke,
                               wire::Revoke{{revoked.creator, revoked.counter}});
  return true;
}

void MessageEngine::failed(btl::Endpoint& to, const std::string& why) noexcept {
  PeerState& peer = to.state != nullptr ? *to.state : peers.contact(to);
  if (peer.fate.dead_locked()) return;
  const uint32_t rank = peer.peer->rank;
  const Failure failure = attempt(
      [&] {
        Failure lost =
            tern::failure(process.deaths.lost_class(), "rank %u on %s is lost: %s: %s", rank,
                          host_of(process, *peer.peer).c_str(), to.transport(), why.c_str());
        const std::string sentence = lost.text + strf(". Messages to and from this rank fail (%s)",
                                                      error_class_name(lost.code));
        const auto tell = process.deaths.tolerated() ? &Explain::say : &Explain::warn;
        (process.explain.*tell)("lost", {{"lost_rank", uint64_t{rank}}, {"why", why}}, sentence);
        return lost;
      },
      [this] {
        return Failure{process.deaths.lost_class(), {}};
      });
  if (peer.peer->nspace == 0) ++lost_;
  if (process.deaths.watch != nullptr) process.deaths.watch->lost(peer.peer->index);
  lose(peer, failure);
  end_operations(peer.peer->index, failure, [&](const RecvRequest& one) {
    const core::Communicator& communicator = *one.from.communicator;
    return one.from.rank == MPI_ANY_SOURCE ? peers.all_lost(communicator)
                                           : peers.known(communicator, one.from.rank) == &peer;
  });
  if (process.threaded()) channel.progress.wake();
}

// Peers' later frames are ignored. Transport operations end on their own.
void P2p::interrupt(core::Communicator& communicator, const Failure& why) noexcept {
  communicator.fate.end(why);
  engine.process.has_interrupted.store(true, std::memory_order_relaxed);
  const Failure failure = communicator.fate.reason();
  for_active(
      engine.requests.sends(),
      [&](const SendRequest& one) { return one.communicator == &communicator && !one.ending; },
      [&](SendRequest& send) {
        engine.outbox.remove(send);
        engine.transfers.abandon(send, failure);
      });
  for_active(
      engine.requests.receives(),
      [&](const RecvRequest& one) {
        return one.communicator == &communicator && (one.large || Posted<RecvRequest>::holds(one));
      },
      [&](RecvRequest& receive) {
        if (Posted<RecvRequest>::holds(receive)) engine.matcher.unpost(receive);
        engine.transfers.abandon(receive, failure);
      });
}

}  // namespace tern::pml
