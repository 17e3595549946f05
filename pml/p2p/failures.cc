// SPDX-License-Identifier: Apache-2.0
// Lost peers and interrupted communicators. Complete messages, receives from any source, and other
// peers are unaffected.
#include "base/attempt.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
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

/// The loop uses indices, because ending a request may start others.
template <class Request>
void for_active(const std::vector<std::unique_ptr<Request>>& all, auto&& condition,
                auto&& action) noexcept {
  for (size_t i = 0; i < all.size(); ++i) {
    Request& one = *all[i];
    if (!one.done() && one.active() && condition(one)) action(one);
  }
}

}  // namespace

void MessageEngine::failed(btl::Endpoint& to, const std::string& why) noexcept {
  PeerState& peer = to.state != nullptr ? *to.state : peers.contact(to);
  if (peer.fate.dead_locked()) return;
  const uint32_t rank = peer.peer->rank;
  const Failure failure = attempt(
      [&] {
        Failure lost =
            tern::failure(MPI_ERR_PROC_ABORTED, "rank %u on %s is lost: %s: %s", rank,
                          host_of(process, *peer.peer).c_str(), to.transport(), why.c_str());
        process.explain.warn(
            "lost", {{"lost_rank", uint64_t{rank}}, {"why", why}},
            lost.text + ". Messages to and from this rank fail (MPI_ERR_PROC_ABORTED)");
        return lost;
      },
      [] {
        return Failure{MPI_ERR_PROC_ABORTED, {}};
      });
  peer.fate.end(failure);
  peer.pace(false);
  if (peer.peer->nspace == 0) ++lost_;
  outbox.drop(peer);
  for_active(
      requests.sends(), [&](const SendRequest& one) { return one.peer == &peer; },
      [&](SendRequest& send) { transfers.abandon(send, failure); });
  for_active(
      requests.receives(),
      [&](const RecvRequest& one) {
        return one.large ? one.peer == &peer
                         : one.from.rank != MPI_ANY_SOURCE && Posted<RecvRequest>::holds(one) &&
                               peers.known(*one.from.communicator, one.from.rank) == &peer;
      },
      [&](RecvRequest& receive) {
        matcher.unpost(receive);
        transfers.abandon(receive, failure);
      });
  if (process.threaded()) channel.progress.wake();
}

// Peers' later frames are ignored. Transport operations end on their own.
void P2p::interrupt(core::Communicator& communicator) noexcept {
  communicator.fate.end(tern::failure(
      MPI_ERR_OTHER, "%s was interrupted on this rank by MPIX_Comm_interrupt and is unusable",
      communicator.name.or_words("this communicator").c_str()));
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
