// SPDX-License-Identifier: Apache-2.0
// SharedBoard and DeathList with threads: ranks agree in a loop and stop at random stores; the
// results of all ranks that end an agreement are equal.
#include "fault/board.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstdio>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace tern::fault::test {
namespace {

constexpr int kRanks = 4;
constexpr uint64_t kAgreements = 5;
constexpr int kRounds = 10'000;
constexpr int kForever = 1'000'000;

struct Stopped {};

/// Stops the rank instead of a store.
class MortalBoard {
 public:
  MortalBoard(SharedBoard board, int stores) : board_(board), stores_(stores) {}
  void store(uint64_t number, Field field, uint64_t value) {
    if (stores_-- == 0) throw Stopped();
    board_.store(number, field, value);
  }
  uint64_t load(int member, uint64_t number, Field field) {
    return board_.load(member, number, field);
  }
  bool is_dead(int member) { return board_.is_dead(member); }
  uint32_t deaths() { return board_.deaths(); }
  int dead_member(uint32_t position) const { return board_.dead_member(position); }

 private:
  SharedBoard board_;
  int stores_;
};

class Stress {
 public:
  void run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back([this, rank] { live(rank); });
    for (std::thread& thread : threads) thread.join();
    std::printf("%d rounds, %zu results, %zu with failures, %zu with errors\n", kRounds, results_,
                failures_, errors_);
    EXPECT_EQ(differences_, 0U);
    EXPECT_GT(failures_, 0U);
    EXPECT_GT(failures_, errors_);
  }

 private:
  static bool has_ended(void* self, uint32_t process) noexcept {
    return static_cast<Stress*>(self)->dead_[process / 2].load(std::memory_order_acquire);
  }

  void live(int rank) {
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) begin_round();
      barrier_.arrive_and_wait();
      const bool mortal = random() % 2 == 0;
      try {
        agree(rank, mortal ? static_cast<int>(random() % (4 * kAgreements)) : kForever);
      } catch (const Stopped&) {
        dead_[static_cast<size_t>(rank)].store(true, std::memory_order_release);
      }
      barrier_.arrive_and_wait();
    }
  }

  void begin_round() {
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto at = static_cast<size_t>(rank);
      for (BoardEntry::Half& half : memory_[at].halves) half.number = 0;
      entries_[at] = &memory_[at];
      processes_[at] = static_cast<uint32_t>(rank * 2);  // odd processes are strangers
      dead_[at] = false;
    }
    for (std::atomic<uint32_t>& cell : cells_) cell = 0;
    DeathList(cells_).add(1);
    for (std::optional<Word>& word : words_) word.reset();
  }

  void agree(int rank, int stores) {
    MortalBoard board({rank, entries_, processes_, DeathList(cells_), {has_ended, this}}, stores);
    uint32_t acked = 0;
    for (uint64_t number = 1; number <= kAgreements; ++number) {
      Agreement agreement(number, rank, kRanks, {~(1U << rank), acked});
      for (Progress progress = Progress::kMoved; progress != Progress::kDone;) {
        progress = agreement.step(board);
        if (progress == Progress::kWaits) std::this_thread::yield();
      }
      acked = agreement.outcome().seen;
      compare(number, word_of(agreement.outcome(), board));
    }
  }

  void compare(uint64_t number, Word word) {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++results_;
    failures_ += word.failed.empty() ? 0 : 1;
    errors_ += word.error() ? 1 : 0;
    std::optional<Word>& first = words_[number - 1];
    if (!first)
      first = std::move(word);
    else if (!(*first == word))
      ++differences_;
  }

  std::barrier<> barrier_{kRanks};
  std::array<BoardEntry, kRanks> memory_;
  std::array<BoardEntry*, kRanks> entries_{};
  std::array<uint32_t, kRanks> processes_{};
  std::array<std::atomic<bool>, kRanks> dead_{};
  std::array<std::atomic<uint32_t>, kRanks + 1> cells_{};
  std::mutex mutex_;
  std::array<std::optional<Word>, kAgreements> words_;
  size_t results_ = 0, failures_ = 0, errors_ = 0, differences_ = 0;
};

TEST(Board, SurvivorsAgreeWhileThreadsStop) { Stress().run(); }

TEST(DeathList, KeepsEachProcessOnceInOrder) {
  std::array<std::atomic<uint32_t>, 3> cells{};
  DeathList list(cells);
  EXPECT_EQ(list.length(), 0U);
  EXPECT_EQ(list.add(7), 0U);
  EXPECT_EQ(list.add(0), 1U);
  EXPECT_EQ(list.add(7), 0U);
  EXPECT_EQ(list.length(), 2U);
  EXPECT_EQ(list.length(1), 2U);
  EXPECT_EQ(list.at(1), 0U);
  EXPECT_TRUE(list.has(7, 1));
  EXPECT_FALSE(list.has(0, 1));
  EXPECT_EQ(list.add(9), 2U);
  EXPECT_EQ(list.add(8), 3U) << "the list is full";
  EXPECT_EQ(list.length(), 3U);
}

TEST(DeathList, TakesTheSameDeathsFromManyThreads) {
  constexpr uint32_t kProcesses = 64;
  std::array<std::atomic<uint32_t>, kProcesses> cells{};
  std::vector<std::thread> threads;
  for (uint32_t first = 0; first < 4; ++first)
    threads.emplace_back([&cells, first] {
      for (uint32_t i = 0; i < kProcesses; ++i) DeathList(cells).add((i * 5 + first) % kProcesses);
    });
  for (std::thread& thread : threads) thread.join();
  const DeathList list(cells);
  EXPECT_EQ(list.length(), kProcesses);
  for (uint32_t process = 0; process < kProcesses; ++process)
    EXPECT_TRUE(list.has(process, kProcesses));
}

TEST(Board, LacksTheEntryOfAMember) {
  BoardEntry own;
  const std::array<BoardEntry*, 2> entries{&own, nullptr};
  const std::array<uint32_t, 2> processes{4, 5};
  std::array<std::atomic<uint32_t>, 2> cells{};
  SharedBoard board(0, entries, processes, DeathList(cells), {});
  Agreement agreement(1, 0, 2, {3, 0});
  for (int i = 0; i < 20; ++i) EXPECT_NE(agreement.step(board), Progress::kDone);
  EXPECT_EQ(DeathList(cells).add(5), 0U);
  while (agreement.step(board) != Progress::kDone) continue;
  const Word word = word_of(agreement.outcome(), board);
  EXPECT_EQ(word.flag, 3U);
  EXPECT_EQ(word.failed, std::vector<int>{1});
  EXPECT_TRUE(word.error());
}

TEST(Word, MergesInAnyOrder) {
  const Word one{6, {1, 4}, {1, 2, 4}}, other{3, {2}, {2, 4}};
  Word forth = one, back = other;
  forth.merge(other);
  back.merge(one);
  forth.merge(one);
  EXPECT_EQ(forth, back);
  EXPECT_EQ(forth, (Word{2, {1, 2, 4}, {2, 4}}));
  EXPECT_TRUE(forth.error());
  EXPECT_FALSE(one.error());
}

}  // namespace
}  // namespace tern::fault::test
