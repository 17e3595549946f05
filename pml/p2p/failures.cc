// SPDX-License-Identifier: Apache-2.0
// A peer that is lost: what is under way with it fails, and so does what begins later.
// What stays: messages that are here whole, receives from any source, all other peers.
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

void P2p::failed(btl::Endpoint& to, const std::string& why) noexcept {
  PeerState& peer = to.state != nullptr ? *to.state : peers_.contact(to);
  if (peer.lost != nullptr) return;
  const std::string text =
      strf("rank %u on %s is lost: %s: %s", peer.peer->rank,
           host_of(process_, peer.peer->rank).c_str(), to.transport(), why.c_str());
  peer.lost = std::make_unique<const Failure>(Failure{MPI_ERR_PROC_ABORTED, text});
  peer.pace(false);
  ++lost_;
  process_.explain.warn("lost", {{"rank", uint64_t{peer.peer->rank}}, {"why", why}},
                        text + ". Messages to and from it fail (MPI_ERR_PROC_ABORTED)");
  Outbox::drop(peer);
  for (SendRequest* send :
       select(requests_.sends(), [&](const SendRequest& one) { return one.peer == &peer; }))
    transfers_.abandon(*send, *peer.lost);
  for (RecvRequest* receive : select(requests_.receives(), [&](const RecvRequest& one) {
         return one.large ? one.peer == &peer
                          : one.from.rank != MPI_ANY_SOURCE && Posted<RecvRequest>::holds(one) &&
                                peers_.known(*one.from.communicator, one.from.rank) == &peer;
       })) {
    matcher_.unpost(*receive);
    transfers_.abandon(*receive, *peer.lost);
  }
  if (process_.threaded()) channel_.progress.wake();
}

}  // namespace tern::pml
