// SPDX-License-Identifier: Apache-2.0
#include "fault/hosts.hpp"

#include <algorithm>

namespace tern::fault {

Hosts::Hosts(std::vector<std::vector<int>> members, int arity)
    : members_(std::move(members)), arity_(arity) {
  for (size_t host = 0; host < members_.size(); ++host)
    for (const int member : members_[host]) {
      const auto at = static_cast<size_t>(member);
      if (at >= host_of_.size()) host_of_.resize(at + 1, -1);
      host_of_[at] = static_cast<int>(host);
    }
}

int Hosts::end_of_children(int host) const noexcept {
  return std::min(first_child(host) + arity_, count());
}

HostAgreement::HostAgreement(const Hosts& hosts, int self)
    : hosts_(&hosts), self_(self), host_(hosts.host_of(self)) {}

const HostAgreement::Vote* HostAgreement::vote_of(int host) const noexcept {
  for (const Vote& vote : votes_)
    if (vote.host == host && vote.root == root_) return &vote;
  return nullptr;
}

void HostAgreement::keep(const HostMessage& message) {
  const int host = hosts_->host_of(message.from);
  const auto found = std::find_if(votes_.begin(), votes_.end(),
                                  [&](const Vote& vote) { return vote.host == host; });
  const bool decided = message.kind == HostMessage::Kind::kAnswer;
  Vote vote{host, message.root, decided, message.missing, message.word};
  if (found == votes_.end())
    votes_.push_back(std::move(vote));
  else if (found->root < message.root || (found->root == message.root && decided))
    *found = std::move(vote);
}

void HostAgreement::answer(const Asker& asker) {
  if (!done_) {
    if (std::find(askers_.begin(), askers_.end(), asker) == askers_.end()) askers_.push_back(asker);
    return;
  }
  // A vote for a root above the result's comes to that root, which decides again.
  send(asker.awaits, asker.member, std::max(result_->root, asker.root), result_->word);
}

void HostAgreement::finish() {
  done_ = true;
  for (const Asker& asker : askers_) answer(asker);
  askers_.clear();
  votes_.clear();
}

void HostAgreement::send(HostMessage::Kind kind, int to, int root, Word word,
                         std::vector<int> missing) {
  unsent_.push_back({kind, self_, to, root, std::move(missing), std::move(word)});
}

bool HostAgreement::first_contact(int member) {
  if (std::find(contacts_.begin(), contacts_.end(), member) != contacts_.end()) return false;
  contacts_.push_back(member);
  return true;
}

}  // namespace tern::fault
