// SPDX-License-Identifier: Apache-2.0
// Agreement between hosts: a model visits all interleavings of steps, messages, deaths and reports
// of deaths, on three hosts of two ranks, with two deaths at any steps.
// Messages arrive in any order; messages of a dead rank arrive at any later time or never. A host
// learns of each remote death at any later time.
// Reductions: the agreement on a host is a single action, start(), with a constant result. This is
// sound because all ranks of a host have the same result (agreement_test.cc), deaths do not change
// the result, and no step depends on the content. Dead ranks have no state and receive nothing:
// living ranks see only records and messages.
#include "fault/hosts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/fault/explore.hpp"

namespace tern::fault::test {
namespace {

constexpr uint64_t kMost = 2;  // numbers

enum class HostFault : uint8_t {
  kNone,
  kRecordsLate,    // a result is recorded after the messages
  kOldRoot,        // results of lower roots are not refused
  kAsksNone,       // a later root asks no host
  kForgetsResult,  // a rank does not answer once it has a result
};

struct HostSetting {
  std::vector<int> ranks = {2, 2, 2};  // by host
  int arity = 2, deaths = 2;
  uint64_t numbers = 1;
  HostFault fault = HostFault::kNone;
  bool deadlocks = true;        // are violations
  bool learns_by_rank = false;  // each rank learns of remote deaths alone
};

void add(Key& key, const Word& word) {
  key.add(word.flag);
  key.add_all(word.failed);
  key.add_all(word.acked);
}
void add(Key& key, const std::optional<Word>& word) {
  key.add(word.has_value());
  if (word) add(key, *word);
}

struct Sent {
  Sent(uint64_t of, HostMessage sent) : number(of), message(std::move(sent)) {
    key.add(number << 32 | static_cast<uint64_t>(message.kind) << 24 |
            static_cast<uint64_t>(message.from) << 16 | static_cast<uint64_t>(message.to) << 8 |
            static_cast<uint64_t>(message.root));
    key.add_all(message.missing);
    add(key, message.word);
  }
  uint64_t number;
  HostMessage message;
  Key key;
};

struct HostRank {
  std::array<std::optional<HostAgreement>, kMost> machines;  // by number
  std::array<std::optional<Word>, kMost> results;
  std::array<std::optional<HostResult>, kMost> records;  // on the board
  std::optional<HostResult> unrecorded;                  // HostFault::kRecordsLate
  uint64_t begun = 0;
  mutable std::optional<Key> key;
};

/// What all ranks share.
struct World {
  const HostSetting* setting = nullptr;
  const Hosts* hosts = nullptr;
  uint32_t dead = 0;
  std::array<uint32_t, 8> known{};  // remote dead members, by place_of()
  std::vector<std::shared_ptr<HostRank>> ranks;
  std::vector<std::shared_ptr<const Sent>> network;

  [[nodiscard]] int host(int rank) const { return hosts->host_of(rank); }
  [[nodiscard]] bool is_dead(int rank) const { return (dead >> rank & 1) != 0; }
  [[nodiscard]] size_t place_of(int rank) const {
    return static_cast<size_t>(setting->learns_by_rank ? rank : hosts->members(host(rank))[0]);
  }
  [[nodiscard]] bool knows(int at, int rank) const {
    return host(rank) == host(at) ? is_dead(rank) : (known[place_of(at)] >> rank & 1) != 0;
  }
  [[nodiscard]] const HostRank& rank(int at) const { return *ranks[static_cast<size_t>(at)]; }
  /// States share ranks until a change.
  [[nodiscard]] HostRank& change(int at) {
    std::shared_ptr<HostRank>& own = ranks[static_cast<size_t>(at)];
    if (own.use_count() > 1) own = std::make_shared<HostRank>(*own);
    own->key.reset();
    return *own;
  }
};

class ModelPort {
 public:
  ModelPort(World& world, int self, uint64_t number)
      : world_(world), changes_(&world), self_(self), number_(number) {}
  /// A port without effects.
  ModelPort(const World& world, int self, uint64_t number)
      : world_(world), self_(self), number_(number) {}

  bool is_dead(int member) const { return world_.knows(self_, member); }
  void send(const HostMessage& message) {
    if (changes_ == nullptr) return;
    if (!world_.is_dead(message.to))
      changes_->network.push_back(std::make_shared<Sent>(number_, message));
  }
  void record(const HostResult& result) {
    if (changes_ == nullptr) return;
    changes_->change(self_).unrecorded = result;
    if (world_.setting->fault != HostFault::kRecordsLate) record_late();
  }
  std::optional<HostResult> recorded(int member) const {
    return world_.rank(member).records[number_ - 1];
  }
  void record_late() {
    std::optional<HostResult>& result = changes_->change(self_).unrecorded;
    if (result) changes_->change(self_).records[number_ - 1] = result;
    result.reset();
  }

 private:
  const World& world_;
  World* changes_ = nullptr;
  int self_;
  uint64_t number_;
};

struct HostCounts {
  size_t results = 0, failures = 0;
};
HostCounts host_counts;

Hosts hosts_of(const HostSetting& setting) {
  std::vector<std::vector<int>> members;
  int rank = 0;
  for (const int ranks : setting.ranks) {
    members.emplace_back();
    for (int i = 0; i < ranks; ++i) members.back().push_back(rank++);
  }
  return {std::move(members), setting.arity};
}

class HostModel {
 public:
  HostModel(const HostSetting& setting, const Hosts& hosts) {
    world_.setting = &setting;
    world_.hosts = &hosts;
    int ranks = 0;
    for (const int more : setting.ranks) ranks += more;
    for (int rank = 0; rank < ranks; ++rank) {
      world_.ranks.push_back(std::make_shared<HostRank>());
      for (uint64_t number = 0; number < setting.numbers; ++number)
        world_.change(rank).machines[number].emplace(hosts, rank);
    }
  }

  void key(Key& key) const {
    key.add(world_.dead);
    key.add_all(world_.known);
    for (int rank = 0; rank < count(); ++rank) {
      const std::optional<Key>& own = key_of(world_.rank(rank));
      key.add(own->halves().first), key.add(own->halves().second);
    }
    add_network(key);
  }

  template <class Visit>
  void actions(Visit visit) const {
    for (int rank = 0; rank < count(); ++rank) {
      const auto actor = static_cast<int8_t>(rank);
      if (world_.is_dead(rank)) {
        for (int at = 0; at < count(); ++at)
          if (can_learn(at, rank)) visit({'l', static_cast<int8_t>(at), actor});
        continue;
      }
      for (size_t i = 0; i < kMost; ++i)
        if (can_step(rank, i)) visit({'s', actor, static_cast<int8_t>(i)});
      if (can_begin(rank)) visit({'b', actor, -1});
      if (deaths() < world_.setting->deaths) visit({'d', actor, -1});
    }
    for (size_t i = 0; i < world_.network.size(); ++i) {
      const HostMessage& message = world_.network[i]->message;
      visit({'m', static_cast<int8_t>(message.to), static_cast<int8_t>(i)});
      if (world_.is_dead(message.from)) visit({'x', -1, static_cast<int8_t>(i)});
    }
  }

  void act(Action action) {
    const auto object = static_cast<size_t>(action.object);
    switch (action.kind) {
      case 'l':
        world_.known[world_.place_of(action.actor)] |= 1U << action.object;
        break;
      case 's':
        step(action.actor, object);
        break;
      case 'b':
        begin(action.actor);
        break;
      case 'd':
        die(action.actor);
        break;
      default: {
        const std::shared_ptr<const Sent> sent = world_.network[object];
        world_.network.erase(world_.network.begin() + action.object);
        if (action.kind == 'm') deliver(*sent);
      }
    }
  }

  /// A state without events in which all living ranks wait is a deadlock.
  void check() const {
    if (!world_.network.empty()) return;
    bool all_done = true;
    for (int rank = 0; rank < count(); ++rank) {
      if (world_.is_dead(rank)) {
        for (int at = 0; at < count(); ++at)
          if (can_learn(at, rank)) return;
        continue;
      }
      if (can_begin(rank)) return;
      for (size_t i = 0; i < kMost; ++i)
        if (can_step(rank, i)) return;
      all_done = all_done && world_.rank(rank).results[world_.setting->numbers - 1].has_value();
    }
    if (!all_done && world_.setting->deadlocks) throw Violation("all living ranks wait");
  }

 private:
  static const std::optional<Key>& key_of(const HostRank& rank) {
    if (rank.key) return rank.key;
    Key& key = rank.key.emplace();
    key.add(rank.begun);
    for (const auto& machine : rank.machines)
      if (machine) machine->describe([&](auto value) { key.add(static_cast<uint64_t>(value)); });
    for (const auto& result : rank.results) add(key, result);
    for (const auto& record : rank.records) {
      add(key, record ? std::optional<Word>(record->word) : std::nullopt);
      if (record) key.add(static_cast<uint64_t>(record->root));
    }
    key.add(rank.unrecorded.has_value());
    return rank.key;
  }
  void add_network(Key& key) const {
    std::vector<std::pair<uint64_t, uint64_t>> messages;
    for (const auto& sent : world_.network) messages.push_back(sent->key.halves());
    std::sort(messages.begin(), messages.end());
    for (const auto& [low, high] : messages) key.add(low), key.add(high);
  }

  [[nodiscard]] int count() const { return static_cast<int>(world_.ranks.size()); }
  [[nodiscard]] int deaths() const { return __builtin_popcount(world_.dead); }
  [[nodiscard]] bool can_learn(int at, int rank) const {
    return !world_.is_dead(at) && !world_.knows(at, rank);
  }
  /// The agreement on a host ends once all living ranks have written, after the number before.
  [[nodiscard]] bool can_begin(int rank) const {
    const uint64_t begun = world_.rank(rank).begun;
    if (begun == world_.setting->numbers) return false;
    for (int member = 0; member < count(); ++member)
      if (world_.host(member) == world_.host(rank) && !world_.is_dead(member) && begun > 0 &&
          !world_.rank(member).results[begun - 1])
        return false;
    return true;
  }
  /// Two steps show whether a rank waits, because waiting is a read and a question.
  [[nodiscard]] bool can_step(int rank, size_t at) const {
    const auto& machine = world_.rank(rank).machines[at];
    if (!machine) return false;
    if (world_.rank(rank).unrecorded) return true;
    HostAgreement copy = *machine;
    ModelPort port(world_, rank, at + 1);
    const Progress first = copy.step(port);
    if (first == Progress::kDone) return false;
    const Progress second = copy.step(port);
    return (first != Progress::kWaits && second != Progress::kWaits) || !same(copy, *machine);
  }
  static bool same(const HostAgreement& one, const HostAgreement& other) {
    Key own, others;
    one.describe([&](auto value) { own.add(static_cast<uint64_t>(value)); });
    other.describe([&](auto value) { others.add(static_cast<uint64_t>(value)); });
    return own == others;
  }

  void begin(int rank) {
    HostRank& own = world_.change(rank);
    const uint64_t number = ++own.begun;
    own.machines[number - 1]->start(word_of_host(number, world_.host(rank)));
  }
  static Word word_of_host(uint64_t number, int host) {
    return {~(1U << (static_cast<uint32_t>(number) * 8 + static_cast<uint32_t>(host))), {}, {}};
  }

  void step(int rank, size_t at) {
    ModelPort port(world_, rank, at + 1);
    const bool done = world_.rank(rank).machines[at]->done();
    const Progress progress = world_.change(rank).machines[at]->step(port);
    if (progress == Progress::kDone) port.record_late();
    if (!done && world_.rank(rank).machines[at]->done()) end(rank, at);
  }

  void die(int rank) {
    world_.dead |= 1U << rank;
    HostRank& own = world_.change(rank);
    const auto records = own.records;
    own = {};
    own.records = records;
    std::erase_if(world_.network, [&](const auto& sent) { return sent->message.to == rank; });
    if (world_.setting->learns_by_rank) world_.known[world_.place_of(rank)] = 0;
    const std::vector<int>& members = world_.hosts->members(world_.host(rank));
    for (const int member : members)
      if (!world_.is_dead(member)) return;
    // The knowledge and the board of a dead host do not matter.
    world_.known[world_.place_of(rank)] = 0;
    for (const int member : members) world_.change(member).records = {};
  }

  [[nodiscard]] int root_of(int rank) const {
    int lowest = 0;
    while (world_.knows(rank, lowest)) ++lowest;
    return world_.host(lowest);
  }
  void deliver(const Sent& sent) {
    HostMessage message = sent.message;
    auto& machine = world_.change(message.to).machines[sent.number - 1];
    if (!machine) return;
    const HostFault fault = world_.setting->fault;
    if (fault == HostFault::kAsksNone && message.kind == HostMessage::Kind::kAsk) return;
    if (fault == HostFault::kForgetsResult && machine->done()) return;
    if (fault == HostFault::kOldRoot && message.kind == HostMessage::Kind::kResult)
      message.root = std::max(message.root, root_of(message.to));
    ModelPort port(world_, message.to, sent.number);
    machine->receive(port, message);
  }

  void end(int rank, size_t at) {
    HostRank& own = world_.change(rank);
    const Word word = own.machines[at]->result();
    own.results[at] = word;
    if (at > 0) own.machines[at - 1].reset();
    ++host_counts.results;
    host_counts.failures += word.failed.empty() ? 0 : 1;
    for (int other = 0; other < count(); ++other) {
      const auto& result = world_.rank(other).results[at];
      if (result && !(*result == word)) throw Violation("results differ");
    }
    for (int host = 0; host < world_.hosts->count(); ++host) check_host(at + 1, host, word);
  }

  void check_host(uint64_t number, int host, const Word& word) const {
    const bool counted = (word.flag | word_of_host(number, host).flag) != ~0U;
    for (int rank = 0; rank < count(); ++rank) {
      if (world_.host(rank) != host) continue;
      const bool failed =
          std::find(word.failed.begin(), word.failed.end(), rank) != word.failed.end();
      if (failed == counted) throw Violation("a host counts and has failed");
      if (failed && !world_.is_dead(rank)) throw Violation("a living rank has failed");
    }
  }

  World world_;
};

Exploration visit_hosts(const char* name, const HostSetting& setting) {
  host_counts = {};
  const Hosts hosts = hosts_of(setting);
  Exploration found = explore(HostModel(setting, hosts));
  std::printf("%s: %zu states, %zu final%s%s\n", name, found.states, found.final_states,
              found.violation.empty() ? "" : ", found: ", found.violation.c_str());
  return found;
}

void expect_agreement(const char* name, const HostSetting& setting) {
  const Exploration found = visit_hosts(name, setting);
  EXPECT_EQ(found.violation, "") << name << ": " << found.actions;
  EXPECT_GT(host_counts.results, 0U);
  const int smallest = *std::min_element(setting.ranks.begin(), setting.ranks.end());
  EXPECT_EQ(host_counts.failures > 0, setting.deaths >= smallest);
}

bool visits_all() { return !kSanitized || std::getenv("TEST_LONG") != nullptr; }

TEST(HostsModel, AllSurvivorsAgree) {
  const int deaths = visits_all() ? 2 : 1;
  expect_agreement("3 hosts, star", {.deaths = deaths});
  expect_agreement("3 hosts, chain", {.arity = 1, .deaths = deaths});
}

TEST(HostsModel, AllSurvivorsAgreeTwice) {
  expect_agreement("2 hosts, 2 numbers", {.ranks = {2, 2}, .numbers = 2});
  expect_agreement("3 hosts of one rank, 2 numbers", {.ranks = {1, 1, 1}, .numbers = 2});
}

TEST(HostsModel, AllSurvivorsAgreeWithThreeDeaths) {
  const int deaths = visits_all() ? 3 : 2;
  expect_agreement("4 hosts, tree", {.ranks = {1, 1, 1, 1}, .deaths = deaths});
  expect_agreement("4 hosts, chain", {.ranks = {1, 1, 1, 1}, .arity = 1, .deaths = deaths});
  expect_agreement("2 hosts of 3, 1 ranks", {.ranks = {3, 1}, .deaths = 3});
}

TEST(HostsModel, RanksOfAHostMayLearnOfDeathsApart) {
  const std::vector<int> two(3, 2);
  for (const std::vector<int>& ranks : {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, two}) {
    const bool large = ranks == two;
    if (large && std::getenv("TEST_LONG") == nullptr) continue;
    for (const int arity : {1, 2})
      expect_agreement("3 hosts, knowledge by rank", {.ranks = ranks,
                                                      .arity = arity,
                                                      .deaths = large || !visits_all() ? 2 : 3,
                                                      .learns_by_rank = true});
  }
}

// Faults that the model must find.

TEST(HostsModel, FindsALateRecord) {
  const HostSetting setting{
      .ranks = {2, 1, 1}, .fault = HostFault::kRecordsLate, .deadlocks = false};
  const Exploration found = visit_hosts("late record", setting);
  EXPECT_EQ(found.violation, "results differ") << found.actions;
}

TEST(HostsModel, FindsAnOldRoot) {
  const HostSetting setting{.ranks = {1, 1, 1}, .fault = HostFault::kOldRoot};
  EXPECT_EQ(visit_hosts("old root", setting).violation, "results differ");
}

TEST(HostsModel, FindsARootWithoutQuestions) {
  const HostSetting setting{.ranks = {1, 1, 1}, .fault = HostFault::kAsksNone};
  EXPECT_EQ(visit_hosts("no questions", setting).violation, "all living ranks wait");
}

TEST(HostsModel, FindsAForgottenResult) {
  const HostSetting setting{.ranks = {2, 2, 2}, .fault = HostFault::kForgetsResult};
  EXPECT_EQ(visit_hosts("forgotten result", setting).violation, "all living ranks wait");
}

}  // namespace
}  // namespace tern::fault::test
