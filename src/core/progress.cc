// SPDX-License-Identifier: Apache-2.0
// Progress: pollers, and leaving the core.
#include "core/progress.hpp"

#include <sched.h>
#include <time.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/current_call.hpp"

namespace tern::core {

constinit thread_local CallPlace current_call;

namespace {
constexpr int64_t kFirstSleepUs = 1000;
constexpr int64_t kLongestSleepUs = 10000;
constexpr uint32_t kRoundsBeforeLongSleep = 16;
}  // namespace

void Progress::add(Poll poller, void* self) noexcept {
  TERN_ASSERT(count_ < kMostPollers);
  entries_[count_++] = {poller, self};
}

void Progress::remove(void* self) noexcept {
  int kept = 0;
  for (int i = 0; i < count_; ++i)
    if (entries_[i].self != self) entries_[kept++] = entries_[i];
  count_ = kept;
}

void Progress::configure(Doorbell* doorbell, uint32_t spins, int64_t yield_us,
                         bool threaded) noexcept {
  doorbell_ = doorbell;
  spins_ = spins;
  yield_ns_ = yield_us * 1000;
  threaded_ = threaded;
}

int Progress::poll_others() noexcept {
  int events = 0;
  for (Progress* other : others_) {
    if (!other->try_lock()) continue;
    events += other->poll();
    other->unlock();
  }
  return events;
}

// Tries for a while before it sleeps: the lock is held for a fraction of the time that waking
// takes.
void Progress::lock_among_threads() noexcept {
  if (mutex_.try_lock()) return;
  wanted_.fetch_add(1, std::memory_order_relaxed);
  constexpr int kTries = 400, kTriesOnCore = 300;
  bool mine = false;
  for (int i = 0; i < kTries && !mine; ++i) {
    mine = mutex_.try_lock();
    if (!mine && i >= kTriesOnCore) ::sched_yield();
  }
  if (!mine) mutex_.lock();
  wanted_.fetch_sub(1, std::memory_order_relaxed);
}

// A mutex alone would not do: whoever lets it go and takes it again is faster than the one that is
// woken for it.
void Progress::give_way() noexcept {
  const int before = wanted_.load(std::memory_order_relaxed);
  unlock();
  constexpr int kPatience = 400, kPatienceOnCore = 300;  // rounds; they may have left the core
  for (int i = 0; i < kPatience && wanted_.load(std::memory_order_relaxed) >= before; ++i)
    if (i >= kPatienceOnCore) ::sched_yield();
  lock();
}

void Progress::list(Idleness& idleness) noexcept {
  idleness.listed = true;
  idleness.call = current_call.call;
  idleness.next = sleepers_;
  sleepers_ = &idleness;
}

void Progress::unlist(Idleness& idleness) noexcept {
  Idleness** at = &sleepers_;
  while (*at != &idleness) at = &(*at)->next;
  *at = idleness.next;
  if (watch_ != nullptr) watch_->awake();
}

void Progress::stop_polling() noexcept {
  empty_polls_ = 0;
  if (watch_ != nullptr && sleepers_ == nullptr) watch_->awake();
}

void Progress::look_after_polling() noexcept {
  if (empty_polls_ == kPollsBetweenLooks + 1) polling_since_ns_ = now_ns();
  if (watch_ != nullptr && sleepers_ == nullptr) watch_->asleep(*this);
}

void Progress::add_reports(std::vector<WaitReport>* all) const {
  const int64_t now = now_ns();
  for (const Idleness* one = sleepers_; one != nullptr; one = one->next) {
    WaitReport report;
    report.call = one->call == nullptr ? "" : one->call;
    report.seconds = static_cast<double>(now - one->since_ns) * 1e-9;
    report.words = "waits for ";
    one->describe(one->context, &report);
    all->push_back(std::move(report));
  }
}

WaitReport Progress::polling_report() const {
  return {current_call.call == nullptr ? "" : current_call.call,
          "polls, and finds nothing",
          {},
          false,
          static_cast<double>(now_ns() - polling_since_ns_) * 1e-9};
}

int64_t Progress::idle_since_ns() const noexcept {
  if (sleepers_ == nullptr) return polling_since_ns_;
  int64_t latest = 0;
  for (const Idleness* one = sleepers_; one != nullptr; one = one->next)
    latest = std::max(latest, one->since_ns);
  return latest;
}

void Progress::idle(Idleness* idleness) noexcept {
  const int64_t now = now_ns();
  if (idleness->steps++ == 0) idleness->since_ns = now;
  leave_core(now, idleness);
  idle_ns_ += now_ns() - now;
}

void Progress::leave_core(int64_t now, Idleness* idleness) noexcept {
  constexpr int64_t kLongAwakeNs = 1'000'000'000;  // then somebody may ask what it waits for
  const bool awake = shared_->awake.load(std::memory_order_relaxed) != 0;
  if (now - idleness->since_ns <= (awake ? kLongAwakeNs : yield_ns_)) {
    idleness->first_sleep = idleness->steps;
    unlock();
    ::sched_yield();
    return lock();
  }
  if (watch_ != nullptr) {
    if (!idleness->listed) list(*idleness);
    watch_->asleep(*this);
  }
  unlock();
  const bool early = idleness->steps - idleness->first_sleep < kRoundsBeforeLongSleep;
  if (doorbell_ == nullptr || awake)
    sleep_unrung();
  else
    sleep_on_doorbell(*idleness, early ? kFirstSleepUs : kLongestSleepUs);
  lock();
}

// Alone: only another thread of this rank can bring what is waited for.
void Progress::sleep_unrung() const noexcept {
  constexpr timespec kNap{0, 50000};
  const FutexWord also = shared_->also.get();
  if (also.word != nullptr && shared_->awake.load(std::memory_order_relaxed) == 0)
    return futex_sleep(also, kFirstSleepUs);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
}

void Progress::sleep_on_doorbell(const Idleness& idleness, int64_t most_us) noexcept {
  doorbell_->arm();
  lock();
  const bool found = poll() + poll_others() != 0 || idleness.done(idleness.goal);
  unlock();
  if (found)
    doorbell_->disarm();
  else
    doorbell_->sleep(most_us, shared_->also.get());
}

}  // namespace tern::core
