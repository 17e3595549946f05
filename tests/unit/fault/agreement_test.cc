// SPDX-License-Identifier: Apache-2.0
// Agreement on a host: a model visits all interleavings of all accesses of three ranks, with the
// death of any ranks before any access. Reports of deaths reach the list at any later time.
// Reductions: none among living ranks. A rank does not die after the last number, because the rank
// stores nothing more, and the others have only a final half to read.
#include "fault/agreement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/fault/explore.hpp"

namespace tern::fault::test {
namespace {

constexpr int kMostRanks = 3;
constexpr uint64_t kMostNumbers = 3;

enum class Fault : uint8_t {
  kNone,
  kNoSecondRead,  // "read again" returns the value read before the death was known
  kWritesEarly,   // a rank writes n + 1 and n + 2 before the end of n
  kNumberFirst,   // a rank writes the number before the other words of the half
};

struct Setting {
  int ranks = 3;
  uint64_t numbers = 2;
  Fault fault = Fault::kNone;
  bool shrink = false;
};

struct Memory {
  // Words of a half by rank, parity and field.
  uint64_t words[kMostRanks][2][4] = {};
  uint8_t dead = 0;
  std::vector<int> list;
};

/// The accesses of a rank.
class ModelBoard {
 public:
  ModelBoard(Memory& memory, Fault fault, int self, uint64_t& last_read, bool again)
      : memory_(memory), fault_(fault), self_(self), last_read_(last_read), again_(again) {}

  void store(uint64_t number, Field field, uint64_t value) {
    if (fault_ == Fault::kNumberFirst && field == Field::kFlag)
      word(self_, number, Field::kNumber) = number;
    word(self_, number, field) = value;
  }
  uint64_t load(int member, uint64_t number, Field field) {
    if (again_ && fault_ == Fault::kNoSecondRead) return last_read_;
    return last_read_ = word(member, number, field);
  }
  bool is_dead(int member) const { return (memory_.dead >> member & 1) != 0; }
  uint32_t deaths() const { return static_cast<uint32_t>(memory_.list.size()); }
  int dead_member(uint32_t position) const { return memory_.list[position]; }

 private:
  uint64_t& word(int member, uint64_t number, Field field) {
    return memory_.words[member][number % 2][static_cast<int>(field)];
  }
  Memory& memory_;
  Fault fault_;
  int self_;
  uint64_t& last_read_;
  bool again_;
};

struct Rank {
  std::vector<Agreement> running;  // by number; a single machine without a fault
  std::optional<Shrink> shrink;
  uint64_t begun = 0;
  uint32_t seen = 0;  // of the last result
  uint64_t last_read = 0;
};

struct Counts {
  size_t results = 0, errors = 0, failures = 0, dead_counted = 0;
};
Counts counts;

uint32_t flag_of(uint64_t number, int rank) {
  return ~(1U << (static_cast<uint32_t>(number) * 8 + static_cast<uint32_t>(rank)));
}

class Model {
 public:
  explicit Model(const Setting& setting) : setting_(setting) {
    for (int rank = 0; rank < setting_.ranks; ++rank) begin(rank);
  }

  void key(Key& key) const {
    key.add(memory_.dead);
    key.add_all(memory_.list);
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      for (const auto& half : memory_.words[rank])
        for (const uint64_t word : half) key.add(word);
      if (!dead(rank)) add(key, ranks_[static_cast<size_t>(rank)]);
    }
    for (const auto& result : results_) add(key, result);
    add(key, shrunk_);
  }

  template <class Visit>
  void actions(Visit visit) const {
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      const auto actor = static_cast<int8_t>(rank);
      if (dead(rank)) {
        if (!listed(rank)) visit({'r', actor, -1});
        continue;
      }
      if (done(rank)) continue;
      visit({'d', actor, -1});
      for (size_t i = 0; i < machines(rank); ++i) visit({'s', actor, static_cast<int8_t>(i)});
    }
  }

  void act(Action action) {
    const int rank = action.actor;
    if (action.kind == 'd') {
      memory_.dead |= static_cast<uint8_t>(1 << rank);
      ranks_[static_cast<size_t>(rank)] = {};
    } else if (action.kind == 'r') {
      memory_.list.push_back(rank);
    } else {
      step(rank, static_cast<size_t>(action.object));
    }
  }

  /// A state in which all living ranks only read in vain is a deadlock.
  void check() const {
    bool all_done = true;
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      if (dead(rank) || done(rank)) continue;
      all_done = false;
      for (size_t i = 0; i < machines(rank); ++i)
        if (!waits(rank, i)) return;
    }
    if (!all_done) throw Violation("all living ranks wait");
  }

 private:
  static void add(Key& key, const Agreement& machine) {
    key.add(machine.number() << 16 | static_cast<uint64_t>(machine.phase()) << 8 |
            static_cast<uint64_t>(machine.reads() + 1));
    const Outcome& outcome = machine.outcome();
    key.add(uint64_t{outcome.flag} << 32 | outcome.seen);
    key.add(outcome.acked);
    key.add_all(outcome.absent);
  }
  static void add(Key& key, const Rank& rank) {
    key.add(rank.begun << 32 | rank.seen);
    key.add(rank.running.size());
    for (const Agreement& machine : rank.running) add(key, machine);
    key.add(rank.shrink.has_value());
    if (rank.shrink) {
      add(key, rank.shrink->agreement());
      key.add_all(rank.shrink->failed());
    }
    key.add(rank.last_read);
  }
  static void add(Key& key, const std::optional<Word>& word) {
    key.add(word.has_value());
    if (!word) return;
    key.add(word->flag);
    key.add_all(word->failed);
    key.add_all(word->acked);
  }

  [[nodiscard]] bool dead(int rank) const { return (memory_.dead >> rank & 1) != 0; }
  [[nodiscard]] bool listed(int rank) const {
    return std::find(memory_.list.begin(), memory_.list.end(), rank) != memory_.list.end();
  }
  [[nodiscard]] bool done(int rank) const { return machines(rank) == 0; }
  [[nodiscard]] size_t machines(int rank) const {
    const Rank& own = ranks_[static_cast<size_t>(rank)];
    return own.shrink ? 1 : own.running.size();
  }
  [[nodiscard]] const Agreement& machine(int rank, size_t at) const {
    const Rank& own = ranks_[static_cast<size_t>(rank)];
    return own.shrink ? own.shrink->agreement() : own.running[at];
  }
  [[nodiscard]] bool wrote(int rank, uint64_t number) const {
    return memory_.words[rank][number % 2][static_cast<int>(Field::kNumber)] >= number;
  }

  /// Ranks acknowledge differently: the deaths listed now, those of the last result, or none.
  [[nodiscard]] uint32_t acked_by(int rank) const {
    const uint64_t number = ranks_[static_cast<size_t>(rank)].begun;
    if (rank == 0) return static_cast<uint32_t>(memory_.list.size());
    return number == 1 ? 0 : ranks_[static_cast<size_t>(rank)].seen;
  }

  void begin(int rank) {
    Rank& own = ranks_[static_cast<size_t>(rank)];
    if (setting_.shrink) {
      own.shrink.emplace(1, rank, setting_.ranks, 0, std::vector<int>());
      return;
    }
    do {
      ++own.begun;
      own.running.emplace_back(own.begun, rank, setting_.ranks,
                               Proposal{flag_of(own.begun, rank), acked_by(rank)});
    } while (setting_.fault == Fault::kWritesEarly && own.begun < setting_.numbers);
  }

  void step(int rank, size_t at) {
    Rank& own = ranks_[static_cast<size_t>(rank)];
    const auto phase = [&] { return machine(rank, at).phase(); };
    const bool again = phase() == Agreement::Phase::kReadAgain;
    ModelBoard board(memory_, setting_.fault, rank, own.last_read, again);
    const Progress progress = own.shrink ? own.shrink->step(board) : own.running[at].step(board);
    // Only the read before a death matters.
    if (phase() != Agreement::Phase::kAskDeath && phase() != Agreement::Phase::kReadAgain)
      own.last_read = 0;
    if (progress != Progress::kDone) return;
    if (own.shrink)
      end_shrink(rank);
    else
      end(rank, at, board);
  }

  void end(int rank, size_t at, const ModelBoard& board) {
    Rank& own = ranks_[static_cast<size_t>(rank)];
    const uint64_t number = own.running[at].number();
    const Word word = word_of(own.running[at].outcome(), board);
    own.seen = own.running[at].outcome().seen;
    own.running.erase(own.running.begin() + static_cast<std::ptrdiff_t>(at));
    agree(results_[number - 1], word);
    if (setting_.fault == Fault::kNone) check_members(number, word);
    if (setting_.fault != Fault::kWritesEarly && own.begun < setting_.numbers) begin(rank);
  }

  void end_shrink(int rank) {
    Rank& own = ranks_[static_cast<size_t>(rank)];
    // The flag of the kept result has the number, which must be the same for all, too.
    agree(shrunk_,
          {static_cast<uint32_t>(own.shrink->agreement().number()), own.shrink->failed(), {}});
    for (const int failed : shrunk_->failed)
      if (!dead(failed)) throw Violation("a living rank is excluded");
    own.shrink.reset();
  }

  /// Also ranks that died after the end of an agreement had the result of the others.
  static void agree(std::optional<Word>& result, const Word& word) {
    if (!result) result = word;
    if (!(*result == word)) throw Violation("results differ");
    ++counts.results;
    counts.failures += word.failed.empty() ? 0 : 1;
    counts.errors += word.error() ? 1 : 0;
  }

  void check_members(uint64_t number, const Word& word) const {
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      const bool counted = (word.flag | flag_of(number, rank)) != ~0U;
      const bool failed =
          std::find(word.failed.begin(), word.failed.end(), rank) != word.failed.end();
      if (counted != wrote(rank, number)) throw Violation("a written half does not count");
      if (!counted && !failed) throw Violation("an absent rank has not failed");
      if (failed && !dead(rank)) throw Violation("a living rank has failed");
      counts.dead_counted += counted && dead(rank) ? 1 : 0;
    }
    uint32_t counted = word.flag;
    for (int rank = 0; rank < setting_.ranks; ++rank) counted |= ~flag_of(number, rank);
    if (counted != ~0U) throw Violation("the flag is of another number");
  }

  [[nodiscard]] bool waits(int rank, size_t at) const {
    Agreement own = machine(rank, at);
    const Agreement::Phase phase = own.phase();
    if (phase != Agreement::Phase::kRead && phase != Agreement::Phase::kAskDeath) return false;
    Memory memory = memory_;
    uint64_t last_read = 0;
    ModelBoard board(memory, Fault::kNone, rank, last_read, false);
    const bool waited = own.step(board) == Progress::kWaits;
    return (own.step(board) == Progress::kWaits || waited) && own.phase() == phase;
  }

  Setting setting_;
  Memory memory_;
  std::array<Rank, kMostRanks> ranks_;
  std::array<std::optional<Word>, kMostNumbers> results_;
  std::optional<Word> shrunk_;
};

Exploration visit(const char* name, const Setting& setting) {
  counts = {};
  Exploration found = explore(Model(setting));
  std::printf("%s: %zu states, %zu final%s%s\n", name, found.states, found.final_states,
              found.violation.empty() ? "" : ", found: ", found.violation.c_str());
  return found;
}

TEST(AgreementModel, AllSurvivorsAgree) {
  const Setting setting{.numbers = kSanitized ? 2U : 3U};
  const Exploration found = visit("one host", setting);
  EXPECT_EQ(found.violation, "") << found.actions;
  EXPECT_GT(counts.results, 0U);
  EXPECT_GT(counts.errors, 0U);
  EXPECT_GT(counts.failures, counts.errors) << "no failure was acknowledged by all";
  EXPECT_GT(counts.dead_counted, 0U);
}

TEST(AgreementModel, AllSurvivorsShrinkAlike) {
  const Exploration found = visit("shrink", {.shrink = true});
  EXPECT_EQ(found.violation, "") << found.actions;
  EXPECT_GT(counts.failures, 0U);
}

// Faults that the model must find.

TEST(AgreementModel, FindsAMissingSecondRead) {
  const Exploration found = visit("no second read", {.fault = Fault::kNoSecondRead});
  EXPECT_EQ(found.violation, "results differ") << found.actions;
}

TEST(AgreementModel, FindsAHalfWrittenEarly) {
  const Setting setting{.ranks = 2, .numbers = 3, .fault = Fault::kWritesEarly};
  EXPECT_NE(visit("written early", setting).violation, "");
}

TEST(AgreementModel, FindsANumberWrittenFirst) {
  EXPECT_NE(visit("number first", {.fault = Fault::kNumberFirst}).violation, "");
}

}  // namespace
}  // namespace tern::fault::test
