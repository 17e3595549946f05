// SPDX-License-Identifier: Apache-2.0
// A peer that is lost, a communicator that is interrupted: what is under way fails, and so does
// what begins later.
// What stays of a peer: messages that are here whole, receives from any source, all other peers.
#include <algorithm>

#include "base/error.hpp"
#include "boot/boot.hpp"
#include "core/peer.hpp"
#include "pml/p2p/p2p.hpp"

namespace tern::pml {
namespace {

std::string host_of(core::Process& process, uint32_t rank) {
  try {
    return process.boot->host(static_cast<int>(rank));
  } catch (const Error&) {
    return "an unknown host";
  }
}

template <class Request>
std::vector<Request*> select(const std::vector<std::unique_ptr<Request>>& all, auto&& condition) {
  std::vector<Request*> chosen;
  for (const auto& request : all)
    if (!request->done() && request->active() && condition(*request))
      chosen.push_back(request.get());
  return chosen;
}

}  // namespace

void MessageEngine::failed(btl::Endpoint& to, const std::string& why) noexcept {
  PeerState& peer = to.state != nullptr ? *to.state : peers.contact(to);
  if (peer.fate.dead_locked()) return;
  const std::string text =
      strf("rank %u on %s is lost: %s: %s", peer.peer->rank,
           host_of(process, peer.peer->rank).c_str(), to.transport(), why.c_str());
  const Failure failure{MPI_ERR_PROC_ABORTED, text};
  peer.fate.end(failure);
  peer.pace(false);
  ++lost_;
  process.explain.warn("lost", {{"lost_rank", uint64_t{peer.peer->rank}}, {"why", why}},
                       text + ". Messages to and from it fail (MPI_ERR_PROC_ABORTED)");
  outbox.drop(peer);
  for (SendRequest* send :
       select(requests.sends(), [&](const SendRequest& one) { return one.peer == &peer; }))
    transfers.abandon(*send, failure);
  for (RecvRequest* receive : select(requests.receives(), [&](const RecvRequest& one) {
         return one.large ? one.peer == &peer
                          : one.from.rank != MPI_ANY_SOURCE && Posted<RecvRequest>::holds(one) &&
                                peers.known(*one.from.communicator, one.from.rank) == &peer;
       })) {
    matcher.unpost(*receive);
    transfers.abandon(*receive, failure);
  }
  if (process.threaded()) channel.progress.wake();
}

// What peers still say of it is ignored. What the transport still reads ends when it has.
void P2p::interrupt(core::Communicator& communicator) noexcept {
  communicator.fate.end(tern::failure(
      MPI_ERR_OTHER,
      "%s was interrupted on this rank by MPIX_Comm_interrupt; nothing on it works any more",
      communicator.name.or_words("this communicator").c_str()));
  engine.process.has_interrupted.store(true, std::memory_order_relaxed);
  const Failure failure = communicator.fate.reason();
  for (SendRequest* send : select(engine.requests.sends(), [&](const SendRequest& one) {
         return one.communicator == &communicator && !one.ending;
       })) {
    engine.outbox.remove(*send);
    engine.transfers.abandon(*send, failure);
  }
  for (RecvRequest* receive : select(engine.requests.receives(), [&](const RecvRequest& one) {
         return one.communicator == &communicator && (one.large || Posted<RecvRequest>::holds(one));
       })) {
    if (Posted<RecvRequest>::holds(*receive)) engine.matcher.unpost(*receive);
    engine.transfers.abandon(*receive, failure);
  }
}

}  // namespace tern::pml
