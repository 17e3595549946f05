// SPDX-License-Identifier: Apache-2.0
#include "api/job/progress_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>

#include "base/signals.hpp"

namespace tern::api {
namespace {

constexpr timespec kNap{0, 500000}, kShortNap{0, 50000};

}  // namespace

ProgressThread::ProgressThread(core::Process& process, Doorbell& doorbell)
    : process_(process), doorbell_(doorbell) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "tern-progress");
}

ProgressThread::~ProgressThread() {
  ends_ = true;
  doorbell_.ring(true);
  thread_.join();
}

bool ProgressThread::somebody_waits() const noexcept {
  return std::any_of(process_.channels().begin(), process_.channels().end(),
                     [](const auto& channel) { return channel->progress.waiting() != 0; });
}

// A locked channel counts as an event.
int ProgressThread::poll(Descriptors* armed) const noexcept {
  int events = 0;
  for (const auto& channel : process_.channels()) {
    core::Progress& progress = channel->progress;
    if (progress.mutex.try_lock()) {
      events += progress.poll();
      if (armed != nullptr && events == 0 && !progress.arm(armed)) ++events;
      progress.mutex.unlock();
    } else {
      ++events;
      ::sched_yield();
    }
  }
  return events;
}

void ProgressThread::sleep() noexcept {
  constexpr int64_t kBesideDescriptorsUs = 10'000;  // another thread may empty the pipe
  const uint32_t armed = doorbell_.arm();
  const int64_t most = Doorbell::longest_sleep(process_.params.longest_sleep);
  Descriptors descriptors;
  const bool found = ends_ || poll(&descriptors) != 0;
  if (found)
    doorbell_.disarm();
  else if (descriptors.count() != 0)
    doorbell_.sleep(armed, kBesideDescriptorsUs, {}, descriptors);
  else
    doorbell_.sleep(armed, most);
  if (found) doorbell_.ring(true);
}

void ProgressThread::run() noexcept {
  while (!ends_) {
    if (somebody_waits() && !doorbell_.has_sleepers()) {
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNap, nullptr);
      continue;
    }
    if (poll(nullptr) != 0) {
      doorbell_.ring(true);  // a waiting thread may sleep
      continue;
    }
    if (process_.waits.awake.load(std::memory_order_relaxed) != 0) {
      ::clock_nanosleep(CLOCK_MONOTONIC, 0, &kShortNap, nullptr);
      continue;
    }
    sleep();
  }
}

}  // namespace tern::api
