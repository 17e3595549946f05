// SPDX-License-Identifier: Apache-2.0
#include "api/fault/quorum.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "api/job/runtime.hpp"
#include "core/group.hpp"

namespace tern::api {
namespace {

constexpr size_t kHead = 9;  // words

}  // namespace

int Quorum::host_of(int member) const noexcept {
  return static_cast<int>(std::find_if(hosts.begin(), hosts.end(),
                                       [member](const std::vector<int>& host) {
                                         return std::binary_search(host.begin(), host.end(),
                                                                   member);
                                       }) -
                          hosts.begin());
}

Quorum quorum_of(const core::Communicator& comm) {
  core::Process& process = comm.process();
  const core::Worlds& worlds = process.worlds;
  Quorum quorum;
  for (const core::Group* group : {&comm.group(), comm.remote_group()})
    for (int rank = 0; group != nullptr && rank < group->size(); ++rank)
      quorum.peers.push_back(group->peer_index(rank));
  if (comm.inter())
    std::sort(quorum.peers.begin(), quorum.peers.end(), [&](uint32_t one, uint32_t other) {
      return worlds.name_of(one) < worlds.name_of(other);
    });
  const uint32_t self = comm.group().peer_index(comm.rank());
  std::map<std::pair<uint64_t, int>, size_t> known;
  for (size_t i = 0; i < quorum.peers.size(); ++i) {
    const uint32_t peer = quorum.peers[i];
    if (peer == self) quorum.self = static_cast<int>(i);
    const auto place = std::pair{worlds.name_of(peer).world, node_of(process, process.peer(peer))};
    const auto [host, fresh] = known.emplace(place, quorum.hosts.size());
    if (fresh) quorum.hosts.emplace_back();
    quorum.hosts[host->second].push_back(static_cast<int>(i));
  }
  return quorum;
}

std::vector<uint32_t> pack(const fault::HostMessage& message, uint64_t number) {
  std::vector<uint32_t> words{static_cast<uint32_t>(number),
                              static_cast<uint32_t>(number >> 32),
                              static_cast<uint32_t>(message.kind),
                              static_cast<uint32_t>(message.from),
                              static_cast<uint32_t>(message.root),
                              message.word.flag,
                              static_cast<uint32_t>(message.missing.size()),
                              static_cast<uint32_t>(message.word.failed.size()),
                              static_cast<uint32_t>(message.word.acked.size())};
  for (const auto* list : {&message.missing, &message.word.failed, &message.word.acked})
    for (const int one : *list) words.push_back(static_cast<uint32_t>(one));
  return words;
}

bool unpack(const std::vector<uint32_t>& words, const Quorum& quorum, fault::HostMessage* message,
            uint64_t* number) {
  const size_t members = quorum.peers.size(), hosts = quorum.hosts.size();
  if (words.size() < kHead || words[2] > static_cast<uint32_t>(fault::HostMessage::Kind::kResult))
    return false;
  *number = words[0] | uint64_t{words[1]} << 32;
  message->kind = static_cast<fault::HostMessage::Kind>(words[2]);
  message->from = static_cast<int>(words[3]);
  message->root = static_cast<int>(words[4]);
  message->word.flag = words[5];
  if (words[3] >= members || words[4] >= hosts) return false;
  const size_t counts[] = {words[6], words[7], words[8]};
  if (counts[0] > hosts || counts[1] > members || counts[2] > members ||
      words.size() != kHead + counts[0] + counts[1] + counts[2])
    return false;
  size_t at = kHead;
  const auto take = [&](std::vector<int>* list, size_t count, size_t end) {
    for (; count > 0; --count) {
      if (words[at] >= end) return false;
      list->push_back(static_cast<int>(words[at++]));
    }
    return true;
  };
  const auto ascends = [](const std::vector<int>& list) {
    return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
  };
  if (!take(&message->missing, counts[0], hosts) ||
      !take(&message->word.failed, counts[1], members) ||
      !take(&message->word.acked, counts[2], members))
    return false;
  // A host names hosts below, so a walk over the named hosts ends.
  const int from = quorum.host_of(message->from);
  return ascends(message->word.failed) && ascends(message->word.acked) &&
         std::all_of(message->missing.begin(), message->missing.end(),
                     [from](int host) { return host > from; });
}

size_t most_words(size_t members) noexcept { return kHead + 3 * members; }

}  // namespace tern::api
