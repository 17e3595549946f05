// SPDX-License-Identifier: Apache-2.0
// Progress: what a rank does while it waits: polls the rooms that registered, then leaves the core.
// Why: with more ranks than cores a waiting rank that spins keeps the rank it waits for from
// running. Threads: poll() under the channel's lock when the level is MPI_THREAD_MULTIPLE; wait()
// takes it itself. See: design of sleeping in ARCHITECTURE.md; tests/unit/core/progress_test.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/doorbell.hpp"
#include "base/error.hpp"
#include "base/wait_report.hpp"
#include "core/channel_mutex.hpp"

namespace tern::core {

class Progress;

/// Looks after waiting ranks: hears of every sleep, before it, and of the end of a wait that slept.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void asleep(Progress& progress) noexcept = 0;
  virtual void awake() noexcept = 0;
};

/// How many threads poll without result: counted anew in each period, of some milliseconds.
class PollingThreads {
 public:
  static constexpr int kPeriodShift = 24;  // nanoseconds: longer than the kernel lets a thread run
  /// Once by each thread in each period.
  void add(uint32_t period) noexcept;
  /// In the latest period with polls or the one before, whichever were more.
  [[nodiscard]] int count() const noexcept;

 private:
  struct alignas(8) Counts {  // unaligned, clang takes libatomic
    uint32_t period = 0;
    uint16_t before = 0, now = 0;
  };
  std::atomic<Counts> counts_{Counts{}};
};

/// Of one thread's wait: since when it has found nothing to do, and what it waits for.
struct Idleness {
  template <class Done, class Describe>
  Idleness(Done& waited_for, const Describe& how) noexcept
      : done([](const void* waited) { return (*static_cast<Done*>(const_cast<void*>(waited)))(); }),
        goal(&waited_for),
        describe([](const void* described, WaitReport* report) {
          (*static_cast<const Describe*>(described))(report);
        }),
        context(&how) {}
  bool (*done)(const void* goal);
  const void* goal;
  void (*describe)(const void* context, WaitReport* report);
  const void* context;
  int64_t since_ns = 0;
  uint32_t steps = 0;        // since then
  uint32_t first_sleep = 0;  // the step
  bool listed = false;
  bool counted = false;  // among the spinners
  bool lost_core = false;
  int64_t looked_ns = 0;  // at the clock, while it spins
  int64_t most_sleep_us = INT64_MAX;
  const char* call = nullptr;
  Idleness* next = nullptr;
};

/// The sleeping threads of a channel, until the end of their wait. Under the channel's lock.
class Sleepers {
 public:
  /// Null takes it away. Must outlive all waits.
  void set_watch(Watch* watch) noexcept { watch_ = watch; }
  /// A thread polls without result, or is about to sleep.
  void tell_asleep(Progress& progress) const noexcept {
    if (watch_ != nullptr) watch_->asleep(progress);
  }
  void tell_awake() const noexcept {
    if (watch_ != nullptr) watch_->awake();
  }
  /// None: waiting threads poll, if there are any.
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void add(Idleness& idleness) noexcept;
  TERN_COLD void remove(Idleness& idleness) noexcept;
  /// Adds a report for each.
  void add_reports(std::vector<WaitReport>* all) const;
  /// CLOCK_MONOTONIC (ns) of the latest event for one of them.
  [[nodiscard]] int64_t idle_since_ns() const noexcept;

 private:
  Watch* watch_ = nullptr;
  Idleness* first_ = nullptr;
};

class Progress {
 public:
  /// Returns how many events it handled; 0 says nothing happened.
  using Poll = int (*)(void* self) noexcept;
  Progress() {
    pollers_.reserve(kUsualPollers);
    configure({});
  }

  /// A sleep follows this round: a poller that finds nothing must be rung.
  [[nodiscard]] bool is_before_sleep() const noexcept { return before_sleep_; }

  /// Registers a poller (transports first, schedules after).
  void add(Poll poller, void* self) noexcept;
  void remove(void* self) noexcept;

  /// One round over all pollers. Caller holds the lock where threads are many.
  int poll() noexcept {
    int events = 0;
    ++rounds_;
    for (size_t i = 0; i < pollers_.size(); ++i) events += pollers_[i].poll(pollers_[i].self);
    return events;
  }

  /// Polls until done() is true; sleeps as configured. Caller holds the lock; it is let go while
  /// asleep. `describe`(WaitReport*) says what is waited for, if a report is asked for. For a
  /// done() that depends on a clock or on the end of a process, which ring no bell, `most_sleep_us`
  /// limits each sleep.
  template <class Done, class Describe>
  void wait(Done&& done, const Describe& describe, int64_t most_sleep_us = INT64_MAX) noexcept {
    uint32_t idle_rounds = 0;
    Idleness idleness(done, describe);
    idleness.most_sleep_us = most_sleep_us;
    waiting_.store(waiting() + 1, std::memory_order_relaxed);
    while (!done()) {
      if (poll() != 0 || (TERN_UNLIKELY(looks_around(idle_rounds)) && poll_others() != 0)) {
        idle_rounds = 0;
        idleness.steps = 0;
        continue;
      }
      if (TERN_UNLIKELY(mutex.wanted())) mutex.give_way();
      if (++idle_rounds <= first_spins_) continue;
      if (idle_rounds > spins_ || waiting() > 1 || crowded(&idleness) ||
          lost_core(idle_rounds, &idleness))
        idle(&idleness);
    }
    waiting_.store(waiting() - 1, std::memory_order_relaxed);
    if (TERN_UNLIKELY(idleness.counted)) shared_->spinning.fetch_sub(1, std::memory_order_relaxed);
    if (TERN_UNLIKELY(idleness.listed)) sleepers.remove(idleness);
  }

  /// A round for a caller that comes back (a test, a probe): like poll(), but a rank that only
  /// polls and finds nothing is looked after, too, and where cores are few the caller leaves its
  /// core before it is told so. Lets the lock go meanwhile.
  int poll_for_caller() noexcept {
    int events = poll();
    if (TERN_UNLIKELY(looks_around(empty_polls_)) && events == 0) events = poll_others();
    if (events == 0 && TERN_UNLIKELY(shares_cores_ || on_network())) events = poll_after_others();
    if (TERN_LIKELY(events != 0)) {
      if (TERN_UNLIKELY(empty_polls_ > kPollsBetweenLooks)) stop_polling();
      empty_polls_ = 0;
    } else if (TERN_UNLIKELY((++empty_polls_ & kPollsBetweenLooks) == 0)) {
      look_after_polling();
    }
    return events;
  }

  /// What the channels of a process share: all its threads wait for all of them.
  struct Shared {
    std::atomic<int> spinning{0};  // threads that wait at length
    int most = 1;                  // of them may keep a core
    std::atomic<int> awake{0};     // see stay_awake()
    std::atomic<int64_t> awake_since_ns{0};
    std::atomic<int64_t> most_sleep_us{INT64_MAX};  // for housekeeping without a bell
    PollingThreads polling;
    /// A word whose change ends sleeps, too.
    struct Also {
      std::atomic<std::atomic<uint32_t>*> word{nullptr};
      std::atomic<uint32_t> value{0};
      void set(const FutexWord& on) noexcept {
        value.store(on.value, std::memory_order_relaxed);
        word.store(on.word, std::memory_order_release);
      }
      [[nodiscard]] FutexWord get() const noexcept {
        return {word.load(std::memory_order_acquire), value.load(std::memory_order_relaxed)};
      }
    };
    Also awaited;   // while one thread waits for what it tells
    Also question;  // of the launcher
    [[nodiscard]] AlsoWords also() const noexcept { return {awaited.get(), question.get()}; }
  };
  /// The progress of the other channels of this process: what waits looks after them, too.
  void set_others(std::vector<Progress*> others, Shared& shared) noexcept {
    others_ = std::move(others);
    shared_ = &shared;
  }
  /// One round over each of the others that no thread is busy with.
  int poll_others() noexcept;

  /// Something is under way whose end rings no bell (a device's copy): who waits, in any channel of
  /// the process, polls and yields or naps, but does not sleep. Caller holds the lock.
  void stay_awake(int more) noexcept;

  /// Another thread of this rank may sleep while what it waits for has just been done by hand.
  void wake() noexcept {
    if (doorbell_ != nullptr) doorbell_->ring(true);
  }

  /// Threads inside wait(). Any thread may ask.
  [[nodiscard]] int waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

  /// What else tells of events of this channel; where there are any, the doorbell has a pipe.
  void set_alarms(std::vector<Alarm> alarms) noexcept;
  /// Arms them: false where something has happened already. Caller holds the lock.
  [[nodiscard]] bool arm(Descriptors* armed) const noexcept {
    for (const Alarm& alarm : alarms_) {
      if (!alarm.arm(alarm.self)) return false;
      armed->add(alarm.fd);
    }
    return true;
  }

  /// What the calling thread does, which polls and finds nothing.
  [[nodiscard]] WaitReport polling_report() const;
  /// CLOCK_MONOTONIC (ns) of its first poll without result.
  [[nodiscard]] int64_t polling_since_ns() const noexcept { return polling_since_ns_; }

  /// Rounds of polls, and the time (ns) that waits spent yielding and sleeping; for tools.
  [[nodiscard]] uint64_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] int64_t idle_ns() const noexcept { return idle_ns_; }

  struct Waiting {
    Doorbell* doorbell = nullptr;
    uint32_t spins = 1000;   // polls before the first yield
    int64_t yield_us = 100;  // of yields before the first sleep
    bool threaded = false;
    int64_t longest_sleep_us = 1'000'000;  // Doorbell::kUntilRung relies on the bell alone
  };
  void configure(const Waiting& waiting) noexcept;
  [[nodiscard]] uint32_t spins() const noexcept { return spins_; }

  ChannelMutex mutex;
  Sleepers sleepers;

 private:
  /// One step of waiting after the polls that found nothing: yields, then sleeps on the doorbell.
  /// Must be followed by another poll.
  void idle(Idleness* idleness) noexcept;
  bool leave_core(int64_t now, Idleness* idleness) noexcept;
  void fit_spins(int64_t now, bool switched, Idleness* idleness) noexcept;
  void sleep_unrung(int64_t waited_ns) const noexcept;
  int poll_before_sleep() noexcept;
  bool is_idle_before_sleep(Descriptors* armed) noexcept;
  [[nodiscard]] bool finds_nothing(const Idleness& idleness, Descriptors* armed) noexcept;
  [[nodiscard]] int64_t next_sleep_us(const Idleness& idleness) const noexcept;
  void sleep_on_doorbell(const Idleness& idleness, int64_t most_us) noexcept;
  int poll_after_others() noexcept;
  [[nodiscard]] uint32_t polls_on_core(int64_t now) noexcept;
  TERN_COLD void look_after_polling() noexcept;
  TERN_COLD void stop_polling() noexcept;

  /// Every few rounds that found nothing, where there are other channels.
  [[nodiscard]] bool looks_around(uint32_t empty_rounds) const noexcept {
    return (empty_rounds & kRoundsBetweenOthers) == kRoundsBetweenOthers && !others_.empty();
  }
  /// More threads wait than there are cores for them.
  [[nodiscard]] bool crowded(Idleness* idleness) noexcept {
    if (!idleness->counted) shared_->spinning.fetch_add(1, std::memory_order_relaxed);
    idleness->counted = true;
    return shared_->spinning.load(std::memory_order_relaxed) > shared_->most;
  }
  /// Others want the core of this thread, now or a moment ago: there are more of them than the rank
  /// knows of (another job, another container). Seen by the time that they took, or, where a round
  /// is a system call anyway, by offering it to them now and then.
  [[nodiscard]] bool lost_core(uint32_t idle_rounds, Idleness* idleness) noexcept {
    constexpr uint32_t kRoundsBetweenClocks = 127;
    if (on_network()) {
      if ((idle_rounds & kRoundsBetweenOffers) == kFirstOffer) offer_core(idleness);
    } else if (TERN_UNLIKELY((idle_rounds & kRoundsBetweenClocks) == 51)) {
      look_at_clock(idleness);
    }
    return idleness->lost_core;
  }
  void look_at_clock(Idleness* idleness) noexcept;
  void offer_core(Idleness* idleness) noexcept;
  /// Peers are looked for by system calls.
  [[nodiscard]] bool on_network() const noexcept { return !alarms_.empty(); }
  struct Poller {
    Poll poll;
    void* self;
  };
  static constexpr size_t kUsualPollers = 8;  // more take memory
  std::vector<Poller> pollers_;
  bool before_sleep_ = false;
  bool shares_cores_ = false;  // with other ranks, or maybe other threads
  uint32_t spins_ = 0;         // at present
  uint32_t most_spins_ = 0;    // with a core for each thread
  uint32_t first_spins_ = 0;   // before it looks whether others want the core
  int64_t yield_ns_ = 0;
  int64_t longest_sleep_us_ = 0;
  Doorbell* doorbell_ = nullptr;
  std::atomic<int> waiting_{0};  // threads inside wait(); written under the lock
  uint64_t rounds_ = 0;
  int64_t idle_ns_ = 0;
  std::vector<Progress*> others_;
  std::vector<Alarm> alarms_;
  Shared alone_;
  Shared* shared_ = &alone_;
  uint32_t empty_polls_ = 0;      // of poll_for_caller(), one after the other
  int64_t polling_since_ns_ = 0;  // without result
  static constexpr uint32_t kPollsBetweenLooks = 1023;
  static constexpr uint32_t kRoundsBetweenOthers = 15;
  static constexpr uint32_t kSpinsOfMany = 50;  // several threads wait: each leaves the core soon
  static constexpr uint32_t kRoundsBetweenOffers = 15, kFirstOffer = 5;
};

/// Holds the channel's lock for a scope.
class ChannelLock {
 public:
  explicit ChannelLock(Progress& progress) noexcept : progress_(progress) {
    progress_.mutex.lock();
  }
  ChannelLock(const ChannelLock&) = delete;
  ChannelLock& operator=(const ChannelLock&) = delete;
  ~ChannelLock() { progress_.mutex.unlock(); }

 private:
  Progress& progress_;
};

/// Gives the channel's lock away for a scope, for what may wait long: others make progress.
class ChannelUnlock {
 public:
  explicit ChannelUnlock(Progress& progress) noexcept : progress_(progress) {
    progress_.mutex.unlock();
  }
  ChannelUnlock(const ChannelUnlock&) = delete;
  ChannelUnlock& operator=(const ChannelUnlock&) = delete;
  ~ChannelUnlock() { progress_.mutex.lock(); }

 private:
  Progress& progress_;
};

}  // namespace tern::core
