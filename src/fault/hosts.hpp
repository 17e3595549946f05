// SPDX-License-Identifier: Apache-2.0
// HostAgreement: combines the words of hosts into one result for all living ranks, by messages.
// Leaders: a host's word is the same for all its ranks (fault/agreement.hpp). The lowest living
// rank acts for its host. A successor first reads the board for a result that a dead leader
// recorded. Root: the lowest living host decides. Votes for the first host go up a tree of hosts
// and merge; a host with a dead parent votes at the root itself. Any later root hears each living
// host directly, and asks hosts without a vote, because a host may already have a result. Safety: a
// result is recorded on a host's board before any message carries the result. A host that voted for
// a root refuses results of lower roots, and a host with a result answers a root with the result,
// so a later root can only decide the same. Early return: done() does not imply that other hosts
// have the result. The object then sends and answers messages until the end of the communicator's
// next agreement, and ignores deaths. Threads: the caller's. Cost: two messages per host. See:
// README.md; tests/unit/fault/hosts_test.cc; Herault et al., Practical scalable consensus for
// pseudo-synchronous distributed systems, 2015.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fault/agreement.hpp"
#include "fault/word.hpp"

namespace tern::fault {

/// The members of each host, ascending, and a tree of hosts; the same on all ranks and for all
/// agreements of a communicator, although members die.
class Hosts {
 public:
  Hosts(std::vector<std::vector<int>> members, int arity);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::vector<int>& members(int host) const noexcept {
    return members_[static_cast<size_t>(host)];
  }
  [[nodiscard]] int host_of(int member) const noexcept {
    return host_of_[static_cast<size_t>(member)];
  }
  [[nodiscard]] int parent(int host) const noexcept { return (host - 1) / arity_; }
  [[nodiscard]] int first_child(int host) const noexcept { return host * arity_ + 1; }
  [[nodiscard]] int end_of_children(int host) const noexcept;

 private:
  std::vector<std::vector<int>> members_;
  std::vector<int> host_of_;
  int arity_;
};

struct HostMessage {
  enum class Kind : uint8_t {
    kVote,    // a word; awaits a result
    kAsk,     // awaits a vote
    kAnswer,  // the result of a host that was asked
    kResult,  // of the root
  };
  Kind kind = Kind::kVote;
  int from = 0, to = 0;  // members
  int root = 0;          // a host; hosts below are dead
  // Hosts below the sender in the tree without a vote; their children vote at the root.
  std::vector<int> missing;
  Word word;
};

struct HostResult {
  Word word;
  int root = 0;
  bool operator==(const HostResult&) const = default;
};

/// is_dead() may say no for a while after a death, but says yes only for a process that will never
/// store or send again. Messages between living ranks arrive once, in any order.
/// recorded() reads what a rank of this host gave to record().
template <class P>
concept HostPort = requires(P& port, int member, const HostMessage& message,
                            const HostResult& result) {
  { port.is_dead(member) } -> std::convertible_to<bool>;
  {port.send(message)};
  {port.record(result)};
  { port.recorded(member) } -> std::convertible_to<std::optional<HostResult>>;
};

class HostAgreement {
 public:
  /// `hosts` must outlive the object. Messages may arrive before start().
  HostAgreement(const Hosts& hosts, int self);

  /// `word` is the result of the agreement on this host.
  void start(Word word) { own_ = std::move(word); }
  /// Makes one access to the board, or sends one message; may ask for deaths more than once, since
  /// answers only turn to yes. Throws std::bad_alloc.
  template <HostPort P>
  Progress step(P& port);
  template <HostPort P>
  void receive(P& port, const HostMessage& message);

  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Requires done().
  [[nodiscard]] const Word& result() const noexcept { return result_->word; }

  /// Feeds the state to `add`, for tests.
  template <class Add>
  void describe(Add add) const;

 private:
  struct Vote {
    int host, root;
    bool decided;
    std::vector<int> missing;
    Word word;
  };
  struct Asker {
    int member, root;
    HostMessage::Kind awaits;
    bool operator==(const Asker&) const = default;
  };

  template <HostPort P>
  Progress follow(P& port);
  template <HostPort P>
  Progress lead(P& port);
  template <HostPort P>
  void learn(P& port);
  template <HostPort P>
  void ask(P& port);
  template <HostPort P>
  void vote(P& port);
  template <HostPort P>
  bool decide(P& port);
  /// Merges the votes of a host and all below, and the failure of hosts that died without a vote.
  /// Returns whether none is awaited.
  template <HostPort P>
  bool gather(P& port, int host, Word& word) const;
  template <HostPort P>
  int leader_of(P& port, int host) const;

  [[nodiscard]] const Vote* vote_of(int host) const noexcept;
  void keep(const HostMessage& message);
  void answer(const Asker& asker);
  void finish();
  void send(HostMessage::Kind kind, int to, int root, Word word, std::vector<int> missing = {});
  /// Returns whether a message to the member is new for this root.
  bool first_contact(int member);

  const Hosts* hosts_;
  int self_, host_;
  int root_ = 0;
  size_t leader_ = 0;  // place among the host's members
  bool leader_dead_ = false, asks_death_ = false, done_ = false;
  std::optional<Word> own_;
  std::optional<HostResult> result_;
  std::vector<Vote> votes_;
  std::vector<Asker> askers_;
  std::vector<int> contacts_;  // members with a vote or question of this rank, for root_
  std::vector<HostMessage> unsent_;
};

template <HostPort P>
Progress HostAgreement::step(P& port) {
  if (!unsent_.empty()) {
    const HostMessage message = std::move(unsent_.front());
    unsent_.erase(unsent_.begin());
    port.send(message);
    return Progress::kMoved;
  }
  if (done_) return Progress::kDone;
  if (result_) {
    port.record(*result_);
    finish();
    return Progress::kMoved;
  }
  if (!own_) return Progress::kWaits;
  return hosts_->members(host_)[leader_] == self_ ? lead(port) : follow(port);
}

template <HostPort P>
Progress HostAgreement::follow(P& port) {
  const int leader = hosts_->members(host_)[leader_];
  if (asks_death_) {
    asks_death_ = false;
    leader_dead_ = port.is_dead(leader);
    return leader_dead_ ? Progress::kMoved : Progress::kWaits;
  }
  if (std::optional<HostResult> recorded = port.recorded(leader)) {
    result_ = std::move(recorded);
    finish();
  } else if (leader_dead_) {
    leader_dead_ = false;
    ++leader_;
  } else {
    asks_death_ = true;
  }
  return Progress::kMoved;
}

template <HostPort P>
Progress HostAgreement::lead(P& port) {
  learn(port);
  if (host_ != root_) {
    vote(port);
  } else {
    if (decide(port)) return Progress::kMoved;
    if (root_ > 0) ask(port);
  }
  return unsent_.empty() ? Progress::kWaits : Progress::kMoved;
}

template <HostPort P>
void HostAgreement::learn(P& port) {
  const int before = root_;
  while (root_ < host_ && leader_of(port, root_) < 0) ++root_;
  if (root_ != before) contacts_.clear();
}

template <HostPort P>
void HostAgreement::ask(P& port) {
  for (int host = root_ + 1; host < hosts_->count(); ++host) {
    const int to = leader_of(port, host);
    if (to >= 0 && vote_of(host) == nullptr && first_contact(to))
      send(HostMessage::Kind::kAsk, to, root_, {});
  }
}

template <HostPort P>
void HostAgreement::vote(P& port) {
  Word word = *own_;
  std::vector<int> missing;
  if (root_ == 0) {
    for (int child = hosts_->first_child(host_); child < hosts_->end_of_children(host_); ++child) {
      if (const Vote* below = vote_of(child)) {
        word.merge(below->word);
        missing.insert(missing.end(), below->missing.begin(), below->missing.end());
      } else if (leader_of(port, child) < 0) {
        missing.push_back(child);
      } else {
        return;
      }
    }
  }
  int to = root_ == 0 ? leader_of(port, hosts_->parent(host_)) : -1;
  if (to < 0) to = leader_of(port, root_);
  if (to >= 0 && first_contact(to))
    send(HostMessage::Kind::kVote, to, root_, std::move(word), std::move(missing));
}

template <HostPort P>
bool HostAgreement::decide(P& port) {
  for (const Vote& vote : votes_) {
    if (vote.root != root_ || !vote.decided) continue;
    result_ = {vote.word, root_};
    return true;
  }
  Word word = *own_;
  for (int host = 0; host < root_; ++host) word.fail(hosts_->members(host));
  const int end = root_ == 0 ? hosts_->end_of_children(0) : hosts_->count();
  for (int host = root_ + 1; host < end; ++host)
    if (!gather(port, host, word)) return false;
  result_ = {std::move(word), root_};
  return true;
}

template <HostPort P>
bool HostAgreement::gather(P& port, int host, Word& word) const {
  if (const Vote* vote = vote_of(host)) {
    word.merge(vote->word);
    for (const int missing : vote->missing)
      if (!gather(port, missing, word)) return false;
    return true;
  }
  if (leader_of(port, host) >= 0) return false;
  word.fail(hosts_->members(host));
  if (root_ > 0) return true;
  for (int child = hosts_->first_child(host); child < hosts_->end_of_children(host); ++child)
    if (!gather(port, child, word)) return false;
  return true;
}

template <HostPort P>
int HostAgreement::leader_of(P& port, int host) const {
  for (const int member : hosts_->members(host))
    if (!port.is_dead(member)) return member;
  return -1;
}

template <HostPort P>
void HostAgreement::receive(P& port, const HostMessage& message) {
  learn(port);
  switch (message.kind) {
    case HostMessage::Kind::kVote:
      if (!done_) keep(message);
      return answer({message.from, message.root, HostMessage::Kind::kResult});
    case HostMessage::Kind::kAsk:
      return answer({message.from, message.root, HostMessage::Kind::kAnswer});
    case HostMessage::Kind::kAnswer:
      if (!done_) keep(message);
      return;
    case HostMessage::Kind::kResult:
      if (!result_ && message.root >= root_) result_ = {message.word, message.root};
  }
}

template <class Add>
void HostAgreement::describe(Add add) const {
  const auto add_word = [&](const Word& word) {
    add(word.flag);
    for (const auto* list : {&word.failed, &word.acked}) {
      add(list->size());
      for (const int member : *list) add(member);
    }
  };
  add(root_), add(leader_), add(leader_dead_), add(asks_death_), add(done_);
  add(own_.has_value()), add(result_.has_value());
  if (result_) add_word(result_->word), add(result_->root);
  add(votes_.size());
  for (const Vote& vote : votes_) {
    add(vote.host), add(vote.root), add(vote.decided), add(vote.missing.size());
    for (const int host : vote.missing) add(host);
    add_word(vote.word);
  }
  add(askers_.size());
  for (const Asker& asker : askers_) add(asker.member), add(asker.root), add(asker.awaits);
  add(contacts_.size());
  for (const int member : contacts_) add(member);
  add(unsent_.size());
  for (const HostMessage& message : unsent_) {
    add(message.kind), add(message.to), add(message.root), add(message.missing.size());
    for (const int host : message.missing) add(host);
    add_word(message.word);
  }
}

}  // namespace tern::fault
