// SPDX-License-Identifier: Apache-2.0
// Progress: polling, yielding and sleeping.
#include "core/progress.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/current_call.hpp"

namespace tern::core {

constinit thread_local CallPlace current_call;

namespace {
constexpr uint32_t kPollsOnCore = 2;
constexpr int64_t kSwitchNs = 1000;  // a shorter yield is the bare system call
constexpr int64_t kMomentNs = 10'000'000;

/// A thread's polls count over all channels.
struct Polling {
  int64_t ended_ns = 0;
  int64_t left_core_ns = 0;
  uint32_t polls = 0;
  int64_t skipped = 0;
  int64_t unseen = 0;
  uint32_t period = 0;
  int64_t sleeps_until_ns = 0;  // other threads on the core compute until then
  int64_t shares_until_ns = 0;  // other threads want the core until then
  int64_t spins_less_until_ns = 0;
  long switches = 0;
  bool switched = false;  // in the last yield
  uint32_t offers_in_vain = 0;
  uint32_t offers_skipped = 0;
};
constinit thread_local Polling polling __attribute__((tls_model("initial-exec")));

// A long yield was a switch or an interrupt; the kernel's count of switches tells. Two yields in a
// row with a switch, or a yield of more than kComputesNs, mean another program on the core. A
// single short switch may be a thread of the kernel.
void note_yield(int64_t began_ns) noexcept {
  constexpr int64_t kComputesNs = 100'000;
  const int64_t now = now_ns(), took = now - began_ns;
  const bool before = std::exchange(polling.switched, false);
  if (took <= kSwitchNs) return;
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  const long switches = used.ru_nvcsw + used.ru_nivcsw;
  polling.switched = switches != polling.switches;
  polling.switches = switches;
  if (polling.switched && (before || took > kComputesNs)) polling.shares_until_ns = now + kMomentNs;
}

}  // namespace

void PollingThreads::add(uint32_t period) noexcept {
  constexpr uint32_t kMostBetween = 8;  // periods; other programs may occupy all cores
  Counts old = counts_.load(std::memory_order_relaxed), counts;
  do {
    counts = old;
    if (counts.period != period)
      counts = {period, period - counts.period <= kMostBetween ? counts.now : uint16_t{0}, 0};
    ++counts.now;
  } while (!counts_.compare_exchange_weak(old, counts, std::memory_order_relaxed));
}

int PollingThreads::count() const noexcept {
  const Counts counts = counts_.load(std::memory_order_relaxed);
  return std::max(counts.before, counts.now);
}

void Sleepers::add(Idleness& idleness) noexcept {
  idleness.listed = true;
  idleness.call = current_call.call;
  idleness.next = first_;
  first_ = &idleness;
}

void Sleepers::remove(Idleness& idleness) noexcept {
  Idleness** at = &first_;
  while (*at != &idleness) at = &(*at)->next;
  *at = idleness.next;
  tell_awake();
}

void Sleepers::add_reports(std::vector<WaitReport>* all) const {
  const int64_t now = now_ns();
  for (const Idleness* one = first_; one != nullptr; one = one->next) {
    WaitReport report;
    report.call = one->call == nullptr ? "" : one->call;
    report.seconds = static_cast<double>(now - one->since_ns) * 1e-9;
    report.words = "waits for ";
    one->describe(one->context, &report);
    all->push_back(std::move(report));
  }
}

int64_t Sleepers::idle_since_ns() const noexcept {
  int64_t latest = 0;
  for (const Idleness* one = first_; one != nullptr; one = one->next)
    latest = std::max(latest, one->since_ns);
  return latest;
}

void Progress::add(Poll poller, void* self) noexcept { pollers_.push_back({poller, self}); }

void Progress::remove(void* self) noexcept {
  std::erase_if(pollers_, [self](const Poller& one) { return one.self == self; });
}

void Progress::configure(const Waiting& waiting) noexcept {
  doorbell_ = waiting.doorbell;
  spins_ = most_spins_ = waiting.spins;
  first_spins_ = std::min(spins_, kSpinsOfMany);
  yield_ns_ = waiting.yield_us * 1000;
  longest_sleep_us_ = waiting.longest_sleep_us;
  mutex.set_threaded(waiting.threaded);
  shares_cores_ = waiting.threaded || spins_ <= kSpinsOfMany;
}

void Progress::set_alarms(std::vector<Alarm> alarms) noexcept {
  alarms_ = std::move(alarms);
  if (!on_network()) return;
  constexpr int64_t kNetworkNs = 1'000'000;  // messages and wake-ups take longer
  first_spins_ = std::min(spins_, kFirstOffer - 1);
  yield_ns_ = std::max(yield_ns_, kNetworkNs);
}

int Progress::poll_others() noexcept {
  int events = 0;
  for (Progress* other : others_) {
    if (!other->mutex.try_lock()) continue;
    events += other->poll();
    other->mutex.unlock();
  }
  return events;
}

// A round as long as a time slice means that the thread lost the core.
void Progress::look_at_clock(Idleness* idleness) noexcept {
  constexpr int64_t kLostNs = 1'000'000;
  const int64_t now = now_ns();
  if (idleness->looked_ns != 0 && now - idleness->looked_ns > kLostNs)
    polling.shares_until_ns = now + kMomentNs;
  idleness->looked_ns = now;
  idleness->lost_core = now < polling.shares_until_ns;
}

void Progress::offer_core(Idleness* idleness) noexcept {
  constexpr uint32_t kInVain = 16, kSeldom = 8;
  if (polling.offers_in_vain >= kInVain && ++polling.offers_skipped % kSeldom != 0) return;
  const int64_t now = now_ns();
  if (now >= polling.shares_until_ns) {
    mutex.unlock();
    ::sched_yield();
    mutex.lock();
    note_yield(now);
    ++polling.offers_in_vain;
  }
  if (polling.switched || now < polling.shares_until_ns) polling.offers_in_vain = 0;
  idleness->lost_core = now < polling.shares_until_ns;
}

void Progress::stay_awake(int more) noexcept {
  if (shared_->awake.load(std::memory_order_relaxed) == 0)
    shared_->awake_since_ns.store(now_ns(), std::memory_order_relaxed);
  if (shared_->awake.fetch_add(more, std::memory_order_relaxed) == 0) wake();
}

void Progress::stop_polling() noexcept {
  empty_polls_ = 0;
  if (sleepers.empty()) sleepers.tell_awake();
}

// polls_on_core() is the number of polls without result before a yield.
uint32_t Progress::polls_on_core(int64_t now) noexcept {
  if (on_network()) return now < polling.shares_until_ns ? kPollsOnCore : kRoundsBetweenOffers;
  if (!mutex.threaded()) return std::max(spins_, kPollsOnCore);
  const auto period = static_cast<uint32_t>(now >> PollingThreads::kPeriodShift);
  if (polling.period != period) shared_->polling.add(polling.period = period);
  const int busy = shared_->polling.count() + shared_->spinning.load(std::memory_order_relaxed);
  return busy > shared_->most ? kPollsOnCore : std::max(spins_, kPollsOnCore);
}

// A polling loop waits for other threads, so the thread yields after a few rounds, then polls once
// more. A thread computing between polls yields only at times, because its messages may need other
// threads. A pause below a microsecond may mean either case: the thread yields soon at first, then
// less often, and skips the clock at some polls.
int Progress::poll_after_others() noexcept {
  constexpr int64_t kLoopNs = 400, kPauseNs = 1000, kLongOnCoreNs = 100000, kPart = 8;
  if (polling.unseen != 0) return --polling.unseen, 0;
  const int64_t now = now_ns(), pause = (now - polling.ended_ns) / (polling.skipped + 1);
  const int64_t part = empty_polls_ / kPart;
  const bool loops = pause < (mutex.threaded() ? kPauseNs : kLoopNs);
  polling.polls = loops ? polling.polls + 1 : 1;
  polling.ended_ns = now;
  polling.skipped = polling.unseen =
      loops ? 0 : std::min({part, kLongOnCoreNs / kPart / pause, kPart - 1});
  const uint32_t most = polls_on_core(now);
  const int64_t longest =
      loops || pause >= kPauseNs ? kLongOnCoreNs : std::min(part * pause, kLongOnCoreNs);
  const bool long_on_core = most == kPollsOnCore && now - polling.left_core_ns > longest;
  if (polling.polls <= most && !long_on_core) return 0;
  mutex.unlock();
  ::sched_yield();
  mutex.lock();
  if (on_network()) note_yield(now);
  const int events = poll();
  polling.left_core_ns = polling.ended_ns = now_ns();
  return events;
}

void Progress::look_after_polling() noexcept {
  if (empty_polls_ == kPollsBetweenLooks + 1) polling_since_ns_ = now_ns();
  if (sleepers.empty()) sleepers.tell_asleep(*this);
}

WaitReport Progress::polling_report() const {
  return {current_call.call == nullptr ? "" : current_call.call,
          "polls without result",
          {},
          false,
          static_cast<double>(now_ns() - polling_since_ns_) * 1e-9};
}

void Progress::idle(Idleness* idleness) noexcept {
  const int64_t now = now_ns();
  if (idleness->steps++ == 0) {
    idleness->since_ns = now;
    idleness->first_sleep = 0;
  }
  const bool yielded = leave_core(now, idleness);
  const int64_t took = now_ns() - now;
  idle_ns_ += took;
  constexpr int64_t kTimeSliceNs = 1'000'000, kOften = 4;
  if (on_network()) {
    if (yielded) note_yield(now);
  } else if (most_spins_ > kSpinsOfMany) {
    fit_spins(now + took, yielded && took > kSwitchNs && took <= kTimeSliceNs, idleness);
  }
  if (TERN_UNLIKELY(yielded && took > kTimeSliceNs))
    polling.sleeps_until_ns = now + took * (1 + kOften);
}

// The kernel may place a rank on its peer's core, beside an idle core; each message then waits for
// the end of all spins. The sign is a yield with a switch and a result.
void Progress::fit_spins(int64_t now, bool switched, Idleness* idleness) noexcept {
  if (switched && (poll() != 0 || idleness->done(idleness->goal))) {
    idleness->steps = 0;
    spins_ = kSpinsOfMany;
    polling.spins_less_until_ns = now + kMomentNs;
  } else if (now >= polling.spins_less_until_ns) {
    spins_ = most_spins_;
  }
}

// A yield to computing threads takes a time slice of each; a sleeper runs immediately after waking.
// leave_core() returns true for a yield.
bool Progress::leave_core(int64_t now, Idleness* idleness) noexcept {
  constexpr int64_t kLongAwakeNs = 100'000'000;
  const bool awake = shared_->awake.load(std::memory_order_relaxed) != 0;
  const int64_t yields = awake ? kLongAwakeNs : now < polling.sleeps_until_ns ? -1 : yield_ns_;
  int64_t since = idleness->since_ns;
  if (awake) since = std::max(since, shared_->awake_since_ns.load(std::memory_order_relaxed));
  if (now - since <= yields) {
    idleness->first_sleep = idleness->steps;
    mutex.unlock();
    ::sched_yield();
    mutex.lock();
    return true;
  }
  if (!idleness->listed) sleepers.add(*idleness);
  sleepers.tell_asleep(*this);
  mutex.unlock();
  if (doorbell_ == nullptr || awake)
    sleep_unrung(now - since);
  else
    sleep_on_doorbell(*idleness, next_sleep_us(*idleness));
  mutex.lock();
  return false;
}

// A rank alone waits only for its own threads. Other ranks nap, longer the longer they wait.
void Progress::sleep_unrung(int64_t waited_ns) const noexcept {
  constexpr int64_t kShortNs = 50'000, kLongNs = 1'000'000, kPart = 128;
  const timespec nap{0, std::clamp(waited_ns / kPart, kShortNs, kLongNs)};
  const FutexWord awaited = shared_->awaited.get();
  if (awaited.word != nullptr && shared_->awake.load(std::memory_order_relaxed) == 0)
    return futex_sleep(awaited, Doorbell::kUnfencedUs);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
}

// Some events ring no doorbell, so sleeps end, and grow longer.
int64_t Progress::next_sleep_us(const Idleness& idleness) const noexcept {
  constexpr int64_t kGrowth = 8, kOfSeveralOnNetworkUs = 10'000, kOnNetworkUs = 500'000;
  int64_t most = longest_sleep_us_ == Doorbell::kUntilRung ? INT64_MAX : longest_sleep_us_;
  if (on_network()) most = std::min(most, mutex.threaded() ? kOfSeveralOnNetworkUs : kOnNetworkUs);
  most = std::min(
      {most, idleness.most_sleep_us, shared_->most_sleep_us.load(std::memory_order_relaxed)});
  int64_t us = Doorbell::kUnfencedUs;
  for (uint32_t step = idleness.first_sleep + 1; step < idleness.steps && us < most; ++step)
    us *= kGrowth;
  return most == INT64_MAX ? Doorbell::kUntilRung : std::min(us, most);
}

// The rank polls before the remote fence, because polls set flags for peers.
void Progress::sleep_on_doorbell(const Idleness& idleness, int64_t most_us) noexcept {
  const uint32_t armed = doorbell_->arm();
  Descriptors descriptors;
  bool found = shared_->awake.load(std::memory_order_relaxed) != 0;
  if (most_us == Doorbell::kUntilRung || most_us > Doorbell::kUnfencedUs) {
    found = found || !finds_nothing(idleness, nullptr);
    if (!found) most_us = Doorbell::longest_sleep(most_us);
  }
  if (found || !finds_nothing(idleness, &descriptors))
    doorbell_->disarm();
  else if (descriptors.count() != 0)
    doorbell_->sleep(armed, most_us, shared_->also(), descriptors);
  else
    doorbell_->sleep(armed, most_us, shared_->also());
}

int Progress::poll_before_sleep() noexcept {
  before_sleep_ = true;
  const int events = poll();
  before_sleep_ = false;
  return events;
}

bool Progress::finds_nothing(const Idleness& idleness, Descriptors* armed) noexcept {
  bool nothing = true;
  for (Progress* other : others_) nothing &= other->is_idle_before_sleep(armed);
  const ChannelLock held(*this);
  return nothing && poll_before_sleep() == 0 && !idleness.done(idleness.goal) &&
         (armed == nullptr || arm(armed));
}

// The caller holds no lock. The poll waits for each lock, because a skipped channel may have unseen
// events.
bool Progress::is_idle_before_sleep(Descriptors* armed) noexcept {
  const ChannelLock held(*this);
  return poll_before_sleep() == 0 && (armed == nullptr || arm(armed));
}

}  // namespace tern::core
