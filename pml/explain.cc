// SPDX-License-Identifier: Apache-2.0
// TERN_EXPLAIN: how messages go to a peer, at the first one and in sum.
#include <algorithm>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p.hpp"

namespace tern::pml {
namespace {

std::string words_of(uint64_t count) {
  return strf("%llu message%s", static_cast<unsigned long long>(count), count == 1 ? "" : "s");
}

}  // namespace

void P2p::explain_contact(const PeerState& peer) const noexcept {
  btl::Endpoint& endpoint = *peer.endpoint;
  const uint32_t rank = peer.peer->rank;
  const bool one_copy = pull_limit_ != SIZE_MAX && endpoint.one_sided();
  std::string large =
      strf("in fragments of %s (two copies)", bytes_in_words(endpoint.fragment_bytes()).c_str());
  if (one_copy && pull_limit_ > 0 && !process_.oversubscribed)
    large +=
        strf(" while alone and below %s, else by one copy", bytes_in_words(pull_limit_).c_str());
  else if (one_copy)
    large = "by one copy";
  if (one_copy && both_limit_ != SIZE_MAX)
    large += strf(" that both ends share from %s", bytes_in_words(both_limit_).c_str());
  process_.explain.say(
      "peer",
      {{"peer", rank},
       {"transport", endpoint.transport()},
       {"why", endpoint.reason()},
       {"eager_limit", peer.eager_limit},
       {"single_copy", one_copy ? "yes" : "no"},
       {"pull_limit", pull_limit_},
       {"both_limit", both_limit_}},
      strf("to rank %u by %s (%s): up to %s at once; larger ones are announced and go %s", rank,
           endpoint.transport(), endpoint.reason(), bytes_in_words(peer.eager_limit).c_str(),
           large.c_str()));
}

void P2p::explain_traffic() const noexcept {
  if (!process_.explain.on()) return;
  for (const auto& peer : peers_) {
    const Traffic& sent = peer->sent;
    const uint64_t read = sent.announced - std::min(sent.announced, sent.piped + sent.shared);
    if (sent.eager + sent.announced == 0) continue;
    process_.explain.say(
        "traffic",
        {{"peer", peer->peer->rank},
         {"transport", peer->endpoint->transport()},
         {"eager", sent.eager},
         {"eager_bytes", sent.eager_bytes},
         {"announced", sent.announced},
         {"announced_bytes", sent.announced_bytes},
         {"in_fragments", sent.piped},
         {"by_both_ends", sent.shared},
         {"read_by_receiver", read}},
        strf("sent to rank %u by %s: %s at once (%s), %s announced (%s): %llu in fragments, %llu "
             "copied by both ends, %llu read by the receiver",
             peer->peer->rank, peer->endpoint->transport(), words_of(sent.eager).c_str(),
             bytes_in_words(sent.eager_bytes).c_str(), words_of(sent.announced).c_str(),
             bytes_in_words(sent.announced_bytes).c_str(),
             static_cast<unsigned long long>(sent.piped),
             static_cast<unsigned long long>(sent.shared), static_cast<unsigned long long>(read)));
  }
}

}  // namespace tern::pml
