// SPDX-License-Identifier: Apache-2.0
// Progress: polling rounds, waits, sleeps, wakes, and the lock of a channel.
#include "core/progress.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <functional>
#include <future>
#include <thread>

namespace tern::core {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif

struct Room {
  std::atomic<int> polls{0}, events{0};
  std::vector<Room*>* order = nullptr;
  static int poll(void* self) noexcept {
    Room& room = *static_cast<Room*>(self);
    ++room.polls;
    if (room.order != nullptr) room.order->push_back(&room);
    return room.events;
  }
};

struct CountingWatch : Watch {
  std::atomic<int> asleeps{0}, awakes{0};
  std::vector<WaitReport> seen;
  void asleep(Progress& progress) noexcept override {
    ++asleeps;
    seen.clear();
    progress.sleepers.add_reports(&seen);
  }
  void awake() noexcept override { ++awakes; }
};

/// NotesSleeps records the number of sleeps before the first poll after `begins` and before a later
/// poll. Yields beside busy cores do not count.
struct NotesSleeps {
  const CountingWatch* watch;
  std::atomic<bool> begins{false}, ended{false};
  int polls = 0, asleeps_before = -1, asleeps_after = -1;
  Clock::time_point first = {};
  static int poll(void* self) noexcept {
    NotesSleeps& room = *static_cast<NotesSleeps*>(self);
    if (!room.begins || room.ended) return 0;
    if (room.polls++ == 0) {
      room.asleeps_before = room.watch->asleeps;
      room.first = Clock::now();
    }
    room.asleeps_after = room.watch->asleeps;
    room.ended = room.polls > 30 && Clock::now() - room.first > milliseconds(5);
    return 0;
  }
};

long switches() {
  rusage used{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &used), 0);
  return used.ru_nvcsw + used.ru_nivcsw;
}

void bind_to_one_core() {
  cpu_set_t allowed, one;
  EXPECT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  size_t core = 0;
  while (core + 1 < CPU_SETSIZE && !CPU_ISSET(core, &allowed)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() {
    shared_.most = 2;
    progress_.set_others({}, shared_);
    progress_.configure({&bell_, 20, 100, true});
    progress_.add(Room::poll, &room_);
    progress_.sleepers.set_watch(&watch_);
  }
  ~ProgressTest() override { progress_.sleepers.set_watch(nullptr); }
  void wait_for(const std::atomic<bool>& flag) {
    const ChannelLock lock(progress_);
    progress_.wait([&] { return flag.load(); },
                   [](WaitReport* report) { report->words += "a flag"; });
  }
  static bool comes(const std::function<bool()>& what) {
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (!what() && Clock::now() < end) std::this_thread::sleep_for(microseconds(100));
    return what();
  }
  Doorbell bell_;
  CountingWatch watch_;
  Progress::Shared shared_;
  Room room_;
  Progress progress_;
};

TEST_F(ProgressTest, ARoundPollsEachRoomOnceInTheirOrder) {
  std::vector<Room*> order;
  Room second, third;
  room_.order = second.order = third.order = &order;
  room_.events = 1;
  third.events = 4;
  progress_.add(Room::poll, &second);
  progress_.add(Room::poll, &third);
  const uint64_t before = progress_.rounds();
  EXPECT_EQ(progress_.poll(), 5);
  EXPECT_EQ(progress_.rounds(), before + 1);
  EXPECT_EQ(order, (std::vector<Room*>{&room_, &second, &third}));
  progress_.remove(&second);
  EXPECT_EQ(progress_.poll(), 5);
  EXPECT_EQ(second.polls, 1);
  EXPECT_EQ(third.polls, 2);
}

TEST_F(ProgressTest, AWaitThatIsOverPollsNothing) {
  wait_for(true);
  EXPECT_EQ(room_.polls, 0);
  EXPECT_EQ(progress_.waiting(), 0);
  EXPECT_EQ(watch_.asleeps, 0);
}

TEST_F(ProgressTest, WhatItPollsEndsAWait) {
  struct Ending : Room {
    std::atomic<bool> done{false};
    static int poll(void* self) noexcept {
      Ending& room = *static_cast<Ending*>(self);
      if (++room.polls == 10000) room.done = true;
      return room.polls % 2;  // no reason to leave the core
    }
  } room;
  progress_.add(Ending::poll, &room);
  wait_for(room.done);
  EXPECT_EQ(room.polls, 10000);
  EXPECT_EQ(watch_.asleeps, 0);
  EXPECT_EQ(progress_.idle_ns(), 0);
}

TEST_F(ProgressTest, ASleepIsWatchedAndSaysWhatItWaitsFor) {
  std::atomic<bool> done{false};
  std::thread waiter([&] { wait_for(done); });
  ASSERT_TRUE(comes([&] { return watch_.asleeps > 2; }));
  {
    const ChannelLock lock(progress_);
    EXPECT_NE(progress_.waiting(), 0);
    EXPECT_FALSE(progress_.sleepers.empty());
    EXPECT_GT(progress_.sleepers.idle_since_ns(), 0);
    ASSERT_EQ(watch_.seen.size(), 1U);
    EXPECT_EQ(watch_.seen[0].words, "waits for a flag");
    EXPECT_EQ(watch_.awakes, 0);
  }
  done = true;
  progress_.wake();
  waiter.join();
  EXPECT_EQ(watch_.awakes, 1);
  EXPECT_TRUE(progress_.sleepers.empty());
  EXPECT_EQ(progress_.waiting(), 0);
  EXPECT_GT(progress_.idle_ns(), 0);
}

// Without a wake, a quarter of the waits would rarely end within 1 ms.
TEST_F(ProgressTest, AnotherThreadWakesIt) {
  constexpr int kTurns = 24;
  std::vector<Clock::duration> took;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::atomic<bool> done{false};
    Clock::time_point end;
    const int before = watch_.asleeps;
    std::thread waiter([&] {
      wait_for(done);
      end = Clock::now();
    });
    ASSERT_TRUE(comes([&] { return watch_.asleeps > before + 3; }));  // sleeps are long by now
    std::this_thread::sleep_for(microseconds(turn * 173 % 1000));
    const auto begin = Clock::now();
    done = true;
    progress_.wake();
    waiter.join();
    took.push_back(end - begin);
  }
  std::sort(took.begin(), took.end());
  EXPECT_LT(took[kTurns / 4], milliseconds(1));
}

TEST_F(ProgressTest, WhileADeviceWorksNobodySleeps) {
  NotesSleeps noting{&watch_};
  progress_.add(NotesSleeps::poll, &noting);
  progress_.stay_awake(2);
  progress_.stay_awake(-1);
  noting.begins = true;
  std::atomic<bool> done{false};
  std::thread waiter([&] { wait_for(done); });
  EXPECT_TRUE(comes([&] { return noting.ended.load(); }));
  EXPECT_EQ(noting.asleeps_after, 0);
  {
    const ChannelLock lock(progress_);
    progress_.stay_awake(-1);
  }
  EXPECT_TRUE(comes([&] { return watch_.asleeps > 0; }));
  done = true;
  progress_.wake();
  waiter.join();
}

TEST_F(ProgressTest, WhileADeviceWorksForAnotherChannelNobodySleeps) {
  NotesSleeps noting{&watch_};
  progress_.add(NotesSleeps::poll, &noting);
  Progress other;
  other.set_others({&progress_}, shared_);
  other.configure({&bell_, 20, 100, true});
  std::atomic<bool> done{false};
  std::thread waiter([&] { wait_for(done); });
  ASSERT_TRUE(comes([&] { return watch_.asleeps > 3; }));
  {
    const ChannelLock lock(other);
    other.stay_awake(1);
  }
  noting.begins = true;
  EXPECT_TRUE(comes([&] { return noting.ended.load(); }));
  EXPECT_EQ(noting.asleeps_after, noting.asleeps_before);
  {
    const ChannelLock lock(other);
    other.stay_awake(-1);
  }
  done = true;
  progress_.wake();
  waiter.join();
}

TEST_F(ProgressTest, AWaitLetsOthersHaveTheLock) {
  std::atomic<bool> done{false};
  std::thread waiter([&] { wait_for(done); });
  ASSERT_TRUE(comes([&] { return progress_.waiting() != 0; }));
  for (int i = 0; i < 100; ++i) {
    const ChannelLock lock(progress_);
    const int polls = room_.polls;
    std::this_thread::yield();
    EXPECT_EQ(room_.polls, polls) << "polled while another thread has the lock";
    EXPECT_NE(progress_.waiting(), 0);
  }
  {
    const ChannelLock lock(progress_);
    done = true;
  }
  progress_.wake();
  waiter.join();
  EXPECT_TRUE(progress_.mutex.try_lock());
  bool taken = true;
  std::thread([&] { taken = progress_.mutex.try_lock(); }).join();
  EXPECT_FALSE(taken);
  progress_.mutex.unlock();
}

TEST_F(ProgressTest, WhoWaitsLooksAfterTheOtherChannels) {
  Room elsewhere;
  Progress other;
  other.set_others({&progress_}, shared_);
  other.configure({&bell_, 20, 100, true});
  other.add(Room::poll, &elsewhere);
  progress_.set_others({&other}, shared_);
  other.mutex.lock();  // the waiter must not block here
  std::atomic<bool> done{false};
  std::thread waiter([&] { wait_for(done); });
  ASSERT_TRUE(comes([&] { return watch_.asleeps > 0; }));
  EXPECT_EQ(elsewhere.polls, 0);
  other.mutex.unlock();
  EXPECT_TRUE(comes([&] { return elsewhere.polls > 0; }));
  done = true;
  progress_.wake();
  waiter.join();
  progress_.set_others({}, shared_);
}

TEST_F(ProgressTest, ACallerThatOnlyPollsIsLookedAfter) {
  const ChannelLock lock(progress_);
  room_.events = 1;
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(progress_.poll_for_caller(), 1);
  EXPECT_EQ(watch_.asleeps, 0);
  room_.events = 0;
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(progress_.poll_for_caller(), 0);
  EXPECT_GT(watch_.asleeps, 0);
  EXPECT_EQ(watch_.awakes, 0);
  room_.events = 1;
  EXPECT_EQ(progress_.poll_for_caller(), 1);
  EXPECT_EQ(watch_.awakes, 1);
}

// Other programs may take all cores for some periods.
TEST(PollingThreads, CountsOutlastPeriodsWithoutPolls) {
  PollingThreads threads;
  for (int i = 0; i < 3; ++i) threads.add(10);
  threads.add(11);
  EXPECT_EQ(threads.count(), 3);
  threads.add(12);
  EXPECT_EQ(threads.count(), 1);
  for (int i = 0; i < 2; ++i) threads.add(12);
  threads.add(17);
  EXPECT_EQ(threads.count(), 3);
  threads.add(1000);
  EXPECT_EQ(threads.count(), 1);
}

class PollingCallerTest : public ProgressTest {
 protected:
  int rounds_after_others(int calls, std::chrono::nanoseconds work = microseconds(0)) {
    const int before = room_.polls;
    int events = 0;
    for (int i = 0; i < calls; ++i) {
      {
        const ChannelLock lock(progress_);
        events += progress_.poll_for_caller();
      }
      if (work.count() == 0) continue;
      const auto end = Clock::now() + work;
      while (Clock::now() < end) continue;
    }
    EXPECT_EQ(events, 0);
    return room_.polls - before - calls;
  }
};

TEST_F(PollingCallerTest, WhereRanksFitTheCoresItKeepsItsCore) {
  progress_.configure({&bell_, 20000, 100, false});
  EXPECT_EQ(rounds_after_others(3000), 0);
  progress_.configure({&bell_, 20000, 100, true});
  EXPECT_EQ(rounds_after_others(3000), 0);
}

TEST_F(PollingCallerTest, BesideMoreRanksThanCoresItLeavesTheCore) {
  progress_.configure({&bell_, 0, 100, false});
  // Slow polls, and cold caches after a yield, may count as work of the caller.
  constexpr int kTries = 20, kEnough = kSlow ? 0 : 2000, kEnoughBesideOthers = kSlow ? 0 : 600;
  int most = 0;
  bool alone = true;
  for (int i = 0; i < kTries && most <= kEnough; ++i) {
    const long before = switches();
    most = std::max(most, rounds_after_others(3000));
    alone = switches() - before < 100;
  }
  EXPECT_GT(most, alone ? kEnough : kEnoughBesideOthers);
}

TEST_F(PollingCallerTest, WhoComputesBetweenItsPollsLeavesTheCoreNowAndThen) {
  progress_.configure({&bell_, 0, 100, false});
  const auto begin = Clock::now();
  const int left = rounds_after_others(1000, microseconds(10));
  const auto took = std::chrono::duration_cast<microseconds>(Clock::now() - begin);
  EXPECT_GT(left, 10);
  EXPECT_LE(left, took / microseconds(100) + 1);
}

TEST_F(PollingCallerTest, WhoComputesForAMomentBetweenItsPollsLeavesTheCoreLessAndLessOften) {
  progress_.configure({&bell_, 0, 100, false});
  constexpr int kCalls = 20000, kFirst = 200;
  const auto begin = Clock::now();
  const int left = rounds_after_others(kCalls, std::chrono::nanoseconds(600));
  const auto took = std::chrono::duration_cast<microseconds>(Clock::now() - begin);
  EXPECT_GT(left, 10);
  EXPECT_LE(left, took / microseconds(100) + kFirst);
}

TEST_F(PollingCallerTest, OfMoreThreadsThanCoresEachLeavesTheCore) {
  progress_.configure({&bell_, 20000, 100, true});
  std::atomic<bool> done{false};
  std::array<std::thread, 3> threads;
  for (std::thread& one : threads)
    one = std::thread([&] {
      while (!done) {
        const ChannelLock lock(progress_);
        progress_.poll_for_caller();
      }
    });
  const auto most = [&] { return shared_.polling.count() == 3; };
  EXPECT_TRUE(comes(most));
  EXPECT_GT(rounds_after_others(3000), 2000);
  done = true;
  for (std::thread& one : threads) one.join();
}

// Two threads share a core, and each waits for the other. Without hand-over, each turn costs a time
// slice, thousands of polls.
TEST_F(PollingCallerTest, HandsTheCoreToWhomItPollsFor) {
  constexpr int kHandOvers = 100;
  std::atomic<int> turn{0};
  const auto take_turns = [&turn](int mine) {
    bind_to_one_core();
    Progress progress;
    Room room;
    progress.configure({nullptr, 0, 100, false});
    progress.add(Room::poll, &room);
    for (int i = mine; i < kHandOvers; i += 2) {
      while (turn != i) progress.poll_for_caller();
      ++turn;
    }
    return room.polls.load();
  };
  auto other = std::async(std::launch::async, [&] { return take_turns(1); });
  auto first = std::async(std::launch::async, [&] { return take_turns(0); });
  EXPECT_LT(first.get() + other.get(), 1000 * kHandOvers);
}

// Another thread on the core hides hand-overs, so one good try is enough.
TEST_F(ProgressTest, HandsTheCoreToAThreadThatItWaitsFor) {
  constexpr int kHandOvers = 200, kTries = 20, kSpins = kSlow ? 4000 : 20000;
  constexpr int kEnough = kSpins / 10;
  std::atomic<int> turn{0};
  const auto polls_of_turns = [&turn](int mine) {
    bind_to_one_core();
    Progress progress;
    Room room;
    progress.configure({nullptr, kSpins, 1000, false});
    progress.add(Room::poll, &room);
    std::vector<int> polls;
    for (int i = mine; i < kHandOvers; i += 2) {
      const int before = room.polls;
      const auto is_mine = [&] { return turn == i; };
      progress.wait(is_mine, [](WaitReport*) {});
      ++turn;
      polls.push_back(room.polls - before);
    }
    return polls;
  };
  int middle = INT_MAX;
  for (int i = 0; i < kTries && middle > kEnough; ++i) {
    turn = 0;
    auto other = std::async(std::launch::async, [&] { return polls_of_turns(1); });
    auto first = std::async(std::launch::async, [&] { return polls_of_turns(0); });
    std::vector<int> polls = first.get();
    for (const int one : other.get()) polls.push_back(one);
    std::nth_element(polls.begin(), polls.begin() + kHandOvers / 2, polls.end());
    middle = polls[kHandOvers / 2];
  }
  EXPECT_LE(middle, kEnough);
}

TEST_F(ProgressTest, BesideAThreadThatComputesItSleepsInsteadOfYielding) {
  progress_.configure({&bell_, 0, 100, true});
  std::atomic<bool> stop{false};
  std::thread computes([&] {
    bind_to_one_core();
    while (!stop) continue;
  });
  auto waits = std::async(std::launch::async, [&] {
    bind_to_one_core();
    for (int i = 0; i < 100; ++i) {
      int polls_before_sleep = 0;
      const int asleeps = watch_.asleeps, polls = room_.polls;
      const auto slept = [&] {
        if (watch_.asleeps == asleeps) polls_before_sleep = room_.polls - polls;
        return watch_.asleeps != asleeps;
      };
      const ChannelLock lock(progress_);
      progress_.wait(slept, [](WaitReport*) {});
      if (polls_before_sleep == 0) return true;  // a yield would add a round
    }
    return false;
  });
  EXPECT_TRUE(waits.get());
  stop = true;
  computes.join();
}

TEST_F(ProgressTest, BelowThreadsTheLockIsNone) {
  Progress single;
  single.configure({nullptr, 20, 100, false});
  single.mutex.lock();
  EXPECT_TRUE(single.mutex.try_lock());
  EXPECT_FALSE(single.mutex.wanted());
}

}  // namespace
}  // namespace tern::core
