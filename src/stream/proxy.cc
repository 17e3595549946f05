// SPDX-License-Identifier: Apache-2.0
#include "stream/proxy.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "core/current_call.hpp"
#include "mpix.h"

namespace tern::stream {
namespace {

constexpr timespec kNap{0, 50'000};
constexpr int64_t kYieldNs = 200'000;     // ns between the last event and the first nap
constexpr int64_t kLongNs = 100'000'000;  // then the launcher may request a report

}  // namespace

Proxy::Proxy(core::Process& process, EarlierError::Raise of) : Backlog(of), process_(process) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "tern-proxy");
}

void Proxy::end_thread() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ends_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

Proxy::~Proxy() {
  end_thread();
  (void)end_released();
  mine_.clear();
  for (const auto& one : std::exchange(all_, {})) one->end_board();
}

void Proxy::add(std::shared_ptr<CommStream> one) {
  const std::lock_guard<std::mutex> guard(mutex_);
  all_.push_back(std::move(one));
  changed_ = true;
}

bool Proxy::end_released() noexcept {
  GraphHold* hold = take_released();
  if (TERN_LIKELY(hold == nullptr)) return false;
  while (hold != nullptr) {
    hold->of->leave(hold->number);
    delete std::exchange(hold, hold->next);
  }
  return true;
}

void Proxy::finish() noexcept {
  core::Progress& progress = process_.channel(0).progress;
  const core::ChannelLock lock(progress);
  progress.stay_awake(1);
  progress.wait([this] { return outstanding_.load() == 0; },
                [this](WaitReport* report) {
                  report->words +=
                      strf("streams to finish %d enqueued operations", outstanding_.load());
                });
  progress.stay_awake(-1);
}

// The proxy's thread runs the following functions.

void Proxy::update() noexcept {
  std::vector<std::shared_ptr<CommStream>> before;  // destroyed outside the lock
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    if (!changed_.exchange(false)) return;
    std::vector<std::shared_ptr<CommStream>> now = all_;
    before = std::exchange(mine_, std::move(now));
  } catch (const std::bad_alloc&) {
    changed_ = true;
  }
}

int Proxy::look() noexcept {
  int events = 0;
  bool over = false;
  for (const auto& one : mine_) {
    events += one->look();
    over |= one->over();
  }
  if (!over) return events;
  const auto is_over = [](const std::shared_ptr<CommStream>& one) { return one->over(); };
  std::vector<std::shared_ptr<CommStream>> ended;
  mine_.erase(std::remove_if(mine_.begin(), mine_.end(), is_over), mine_.end());
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto end = std::stable_partition(all_.begin(), all_.end(),
                                           [&](const auto& one) { return !is_over(one); });
    ended.assign(end, all_.end());
    all_.erase(end, all_.end());
  }
  return events;
}

bool Proxy::has_work() const noexcept {
  return std::any_of(mine_.begin(), mine_.end(), [](const auto& one) { return one->has_work(); });
}

bool Proxy::is_under_way() const noexcept {
  return std::any_of(mine_.begin(), mine_.end(),
                     [](const auto& one) { return one->calls()->under_way(); });
}

void Proxy::run() noexcept {
  int64_t idle_since = now_ns();
  while (!ends_) {
    update();
    const bool released = end_released();
    if (look() != 0 || released) {
      idle_since = now_ns();
      continue;
    }
    const bool long_idle = now_ns() - idle_since > kLongNs;
    if (is_under_way() || (outstanding_.load() != 0 && long_idle))
      wait_in_mpi();
    else
      wait_for_streams(idle_since);
  }
}

void Proxy::wait_in_mpi() noexcept {
  core::Channel* channel = &process_.channel(0);
  for (const auto& one : mine_)
    if (one->calls()->under_way()) channel = &one->communicator().channel();
  core::Progress& progress = channel->progress;
  core::current_call.call = "enqueued operations";
  const core::ChannelLock lock(progress);
  waits_ = true;
  progress.stay_awake(1);
  const auto over = [this] {
    for (const auto& one : mine_) one->device_calls().watch();
    return ends_.load() || changed_.load() || has_work() ||
           (outstanding_.load() == 0 && !is_under_way());
  };
  progress.wait(over, [this](WaitReport* report) { describe(report); });
  progress.stay_awake(-1);
  waits_ = false;
}

void Proxy::wait_for_streams(int64_t idle_since_ns) noexcept {
  if (outstanding_.load() == 0 && captured_.load() == 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    woken_.wait(lock, [this] {
      return ends_.load() || changed_ || outstanding_.load() != 0 || captured_.load() != 0;
    });
  } else if (now_ns() - idle_since_ns < kYieldNs) {
    ::sched_yield();
  } else {
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
  }
}

void Proxy::describe(WaitReport* report) const {
  for (const auto& one : mine_)
    if (one->calls()->under_way()) return one->calls()->describe(report);
  for (const auto& one : mine_)
    if (one->device_calls().describe(report)) return;
  report->words +=
      strf("a stream to reach the first of %d enqueued operations", outstanding_.load());
}

}  // namespace tern::stream
