// SPDX-License-Identifier: Apache-2.0
// Messages in words, for TERN_EXPLAIN and hang reports.
#include <algorithm>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "pml/p2p/peers.hpp"
#include "pml/protocols/copies.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {
namespace {

std::string words_of(uint64_t count) {
  return strf("%llu message%s", static_cast<unsigned long long>(count), count == 1 ? "" : "s");
}

std::string shown_name(const core::Communicator& communicator) {
  return communicator.name.or_words("a communicator without a name");
}

std::string shown_tag(const Envelope& envelope) {
  if (envelope.plane != Plane::kUser) return {};
  return envelope.tag == MPI_ANY_TAG ? ", any tag" : strf(", tag %d", envelope.tag);
}

void report_wait_for(const Envelope& envelope, WaitReport* report) {
  core::report_wait_for(envelope.communicator->peer(envelope.rank), report);
}

}  // namespace

void describe_source(const Envelope& from, WaitReport* report) {
  const core::Communicator& communicator = *from.communicator;
  const std::string name = shown_name(communicator);
  if (from.rank != MPI_ANY_SOURCE) {
    report->words += strf("from rank %d of %s%s", from.rank, name.c_str(), shown_tag(from).c_str());
    report_wait_for(from, report);
    return;
  }
  report->words += strf("from any rank of %s%s", name.c_str(), shown_tag(from).c_str());
  if (!communicator.strangers.empty()) return;  // mpirun does not know all awaited ranks
  report->any = true;
  for (int rank = 0; rank < communicator.peer_count(); ++rank)
    if (const auto& peer = communicator.peer(rank);
        static_cast<int>(peer.rank) != communicator.process().world_rank)
      report->wait_for(static_cast<int>(peer.rank));
}

void RecvRequest::describe(WaitReport* report) const {
  if (!large) {
    report->words += strf("a message of up to %s ", bytes_in_words(buffer.bytes()).c_str());
    return describe_source(from, report);
  }
  report->words += strf("the data (%s of %s are here) ", bytes_in_words(transfer.moved).c_str(),
                        bytes_in_words(transfer.bytes).c_str());
  Envelope matched = from;
  matched.rank = outcome.source;
  matched.tag = outcome.tag;
  describe_source(matched, report);
}

void SendRequest::describe(WaitReport* report) const {
  const bool matched = transfer.polled || transfer.partner != 0;
  report->words += strf("rank %d of %s to %s %s%s", to.rank, shown_name(*to.communicator).c_str(),
                        matched ? "take all of" : "receive", bytes_in_words(transfer.bytes).c_str(),
                        shown_tag(to).c_str());
  report_wait_for(to, report);
}

void RequestPool::describe_open(WaitReport* report) const {
  int open = 0;
  const auto look_at = [&](const core::Request& request) {
    if (request.done() || !request.active()) return;
    WaitReport one;
    request.describe(&one);
    if (open++ == 0) report->words += "; under way: " + one.words;
  };
  for (const auto& request : recvs_.all()) look_at(*request);
  for (const auto& request : sends_.all()) look_at(*request);
  if (open > 1) report->words += strf(" (and %d more)", open - 1);
}

void Peers::explain_contact(const PeerState& peer) const noexcept {
  btl::Endpoint& endpoint = *peer.endpoint;
  const uint32_t rank = peer.peer->rank;
  const bool one_copy = limits_.pull != Limits::kNever && can_copy(endpoint);
  std::string large =
      strf("in fragments of %s (two copies)", bytes_in_words(endpoint.fragment_bytes()).c_str());
  if (one_copy && static_cast<int64_t>(limits_.pull) > peer.eager_limit &&
      !process_.node.oversubscribed)
    large +=
        strf(" while alone and below %s, else by one copy", bytes_in_words(limits_.pull).c_str());
  else if (one_copy)
    large = "by one copy";
  if (one_copy && limits_.both_ends != Limits::kNever)
    large += strf(" that both ends share from %s", bytes_in_words(limits_.both_ends).c_str());
  const auto eager =
      static_cast<unsigned long long>(std::max({peer.eager_limit, peer.direct_limit, int64_t{0}}));
  const bool direct = peer.direct_limit > 0;
  if (direct)
    large = strf("in fragments of up to %s (no copy here, one there)",
                 bytes_in_words(endpoint.caps.zero_copy->max_bytes).c_str());
  const btl::Rdma* const rdma = endpoint.caps.rdma;
  const size_t least = rdma == nullptr ? Limits::kNever : limits_.least_rdma(rdma->offloaded);
  if (least != Limits::kNever)
    large += strf(", from %s on read by RDMA", bytes_in_words(least).c_str());
  process_.explain.say(
      "peer",
      {{"peer", rank},
       {"transport", endpoint.transport()},
       {"why", endpoint.reason()},
       {"eager_limit", eager},
       {"direct", direct ? "yes" : "no"},
       {"single_copy", one_copy ? "yes" : "no"},
       {"pull_limit", limits_.pull},
       {"both_limit", limits_.both_ends}},
      strf("to rank %u by %s (%s): up to %s at once%s; larger messages are announced and go %s",
           rank, endpoint.transport(), endpoint.reason(), bytes_in_words(eager).c_str(),
           direct ? strf(", from %s on without a copy here", bytes_in_words(kLeastDirect).c_str())
                        .c_str()
                  : "",
           large.c_str()));
}

void Peers::explain_traffic() const noexcept {
  if (!process_.explain.on()) return;
  for (const auto& peer : peers_) {
    const Traffic& sent = peer->sent;
    const uint64_t read =
        sent.announced - std::min(sent.announced, sent.piped + sent.shared + sent.put);
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
         {"written_by_sender", sent.put},
         {"read_by_receiver", read},
         {"read_by_rdma", sent.got}},
        strf("sent to rank %u by %s: %s at once (%s), %s announced (%s): %llu in fragments, %llu "
             "copied by both ends, %llu written by the sender, %llu read by the receiver (%llu by "
             "RDMA)",
             peer->peer->rank, peer->endpoint->transport(), words_of(sent.eager).c_str(),
             bytes_in_words(sent.eager_bytes).c_str(), words_of(sent.announced).c_str(),
             bytes_in_words(sent.announced_bytes).c_str(),
             static_cast<unsigned long long>(sent.piped),
             static_cast<unsigned long long>(sent.shared),
             static_cast<unsigned long long>(sent.put), static_cast<unsigned long long>(read),
             static_cast<unsigned long long>(sent.got)));
  }
}

}  // namespace tern::pml
