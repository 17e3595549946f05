// SPDX-License-Identifier: Apache-2.0
// Progress: polls the registered pollers for a waiting rank, then leaves the core. Why: with more
// ranks than cores, a spinning rank keeps its peer from running. Threads: poll() and wait() need
// the channel's lock at MPI_THREAD_MULTIPLE.
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

class Watch {
 public:
  virtual ~Watch() = default;
  virtual void asleep(Progress& progress) noexcept = 0;
  virtual void awake() noexcept = 0;
};

/// PollingThreads counts threads polling without result, per period.
class PollingThreads {
 public:
  static constexpr int kPeriodShift = 24;  // log2 of ns: longer than a time slice
  void add(uint32_t period) noexcept;
  [[nodiscard]] int count() const noexcept;

 private:
  struct alignas(8) Counts {  // unaligned, clang would use libatomic
    uint32_t period = 0;
    uint16_t before = 0, now = 0;
  };
  std::atomic<Counts> counts_{Counts{}};
};

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
  uint32_t steps = 0;
  uint32_t first_sleep = 0;
  bool listed = false;
  bool counted = false;
  bool lost_core = false;
  int64_t looked_ns = 0;
  int64_t most_sleep_us = INT64_MAX;
  const char* call = nullptr;
  Idleness* next = nullptr;
};

/// Sleepers are the sleeping threads of a channel, under the channel's lock.
class Sleepers {
 public:
  /// The watch must outlive all waits; may be null.
  void set_watch(Watch* watch) noexcept { watch_ = watch; }
  void tell_asleep(Progress& progress) const noexcept {
    if (watch_ != nullptr) watch_->asleep(progress);
  }
  void tell_awake() const noexcept {
    if (watch_ != nullptr) watch_->awake();
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void add(Idleness& idleness) noexcept;
  TERN_COLD void remove(Idleness& idleness) noexcept;
  void add_reports(std::vector<WaitReport>* all) const;
  [[nodiscard]] int64_t idle_since_ns() const noexcept;

 private:
  Watch* watch_ = nullptr;
  Idleness* first_ = nullptr;
};

class Progress {
 public:
  /// A poller returns the number of events.
  using Poll = int (*)(void* self) noexcept;
  Progress() {
    pollers_.reserve(kUsualPollers);
    configure({});
  }

  /// is_before_sleep() is true in the last poll before a sleep: pollers must then arrange to be
  /// rung.
  [[nodiscard]] bool is_before_sleep() const noexcept { return before_sleep_; }

  void add(Poll poller, void* self) noexcept;
  void remove(void* self) noexcept;

  int poll() noexcept {
    int events = 0;
    ++rounds_;
    for (size_t i = 0; i < pollers_.size(); ++i) events += pollers_[i].poll(pollers_[i].self);
    return events;
  }

  /// wait() polls until done() is true, and sleeps as configured. The caller holds the lock, which
  /// is free during sleeps. `most_sleep_us` limits each sleep, for events without a doorbell (a
  /// clock, the end of a process).
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

  /// Tests and probes use poll_for_caller(). A rank without results is reported, and yields, with
  /// the lock released, if cores are scarce.
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

  struct Shared {
    std::atomic<int> spinning{0};
    int most = 1;  // threads allowed to keep a core
    std::atomic<int> awake{0};
    std::atomic<int64_t> awake_since_ns{0};
    std::atomic<int64_t> most_sleep_us{INT64_MAX};  // for housekeeping without a doorbell
    PollingThreads polling;
    /// A change of this futex word also ends sleeps.
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
    Also awaited;
    Also question;
    [[nodiscard]] AlsoWords also() const noexcept { return {awaited.get(), question.get()}; }
  };
  void set_others(std::vector<Progress*> others, Shared& shared) noexcept {
    others_ = std::move(others);
    shared_ = &shared;
  }
  int poll_others() noexcept;

  /// stay_awake() counts operations without a doorbell (a device's copy). While positive, waiting
  /// threads nap instead of sleeping. The caller holds the lock.
  void stay_awake(int more) noexcept;

  void wake() noexcept {
    if (doorbell_ != nullptr) doorbell_->ring(true);
  }

  [[nodiscard]] int waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

  void set_alarms(std::vector<Alarm> alarms) noexcept;
  /// arm() returns false if an event is pending. The caller holds the lock.
  [[nodiscard]] bool arm(Descriptors* armed) const noexcept {
    for (const Alarm& alarm : alarms_) {
      const Armed how = alarm.arm(alarm.self);
      if (how == Armed::kPending) return false;
      armed->add(alarm.fd);
      if (how == Armed::kUnsure) armed->shorten_sleep();
    }
    return true;
  }

  [[nodiscard]] WaitReport polling_report() const;
  [[nodiscard]] int64_t polling_since_ns() const noexcept { return polling_since_ns_; }

  [[nodiscard]] uint64_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] int64_t idle_ns() const noexcept { return idle_ns_; }

  struct Waiting {
    Doorbell* doorbell = nullptr;
    uint32_t spins = 1000;   // most idle polls before the first yield
    int64_t yield_us = 100;  // microseconds of yields before the first sleep
    bool threaded = false;
    int64_t longest_sleep_us = 1'000'000;  // Doorbell::kUntilRung: sleeps end by the doorbell only
  };
  void configure(const Waiting& waiting) noexcept;
  [[nodiscard]] uint32_t spins() const noexcept { return spins_; }

  ChannelMutex mutex;
  Sleepers sleepers;

 private:
  /// The caller of idle() must poll again.
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

  [[nodiscard]] bool looks_around(uint32_t empty_rounds) const noexcept {
    return (empty_rounds & kRoundsBetweenOthers) == kRoundsBetweenOthers && !others_.empty();
  }
  [[nodiscard]] bool crowded(Idleness* idleness) noexcept {
    if (!idleness->counted) shared_->spinning.fetch_add(1, std::memory_order_relaxed);
    idleness->counted = true;
    return shared_->spinning.load(std::memory_order_relaxed) > shared_->most;
  }
  /// lost_core() is true if other threads (of another job or container) compete for this core,
  /// found by lost time or, on a network with system calls in each round, by yielding now and then.
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
  [[nodiscard]] bool on_network() const noexcept { return !alarms_.empty(); }
  struct Poller {
    Poll poll;
    void* self;
  };
  static constexpr size_t kUsualPollers = 8;  // more pollers allocate memory
  std::vector<Poller> pollers_;
  bool before_sleep_ = false;
  bool shares_cores_ = false;
  uint32_t spins_ = 0;
  uint32_t most_spins_ = 0;
  uint32_t first_spins_ = 0;
  int64_t yield_ns_ = 0;
  int64_t longest_sleep_us_ = 0;
  Doorbell* doorbell_ = nullptr;
  std::atomic<int> waiting_{0};
  uint64_t rounds_ = 0;
  int64_t idle_ns_ = 0;
  std::vector<Progress*> others_;
  std::vector<Alarm> alarms_;
  Shared alone_;
  Shared* shared_ = &alone_;
  uint32_t empty_polls_ = 0;
  int64_t polling_since_ns_ = 0;
  static constexpr uint32_t kPollsBetweenLooks = 1023;
  static constexpr uint32_t kRoundsBetweenOthers = 15;
  static constexpr uint32_t kSpinsOfMany = 50;  // limit if several threads wait
  static constexpr uint32_t kRoundsBetweenOffers = 15, kFirstOffer = 5;
};

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
