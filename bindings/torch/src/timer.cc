// SPDX-License-Identifier: Apache-2.0
#include "timer.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "session.hpp"

namespace torch_tern {

using Time = std::chrono::steady_clock::time_point;

class TimerThread {
 public:
  void add(Timer* timer) {
    const std::lock_guard lock(mutex_);
    timers_.emplace(timer->when_, timer);
    if (!thread_.joinable()) {
      is_stopping_ = false;
      thread_ = std::thread([this] { run(); });
    } else if (timer->when_ < asleep_until_) {
      changed_.notify_one();
    }
  }

  void remove(Timer* timer) {
    std::unique_lock lock(mutex_);
    for (auto [at, end] = timers_.equal_range(timer->when_); at != end; ++at) {
      if (at->second == timer) {
        timers_.erase(at);
        break;
      }
    }
    rung_.wait(lock, [&] { return ringing_ != timer; });
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) {
      thread_.join();
    }
    thread_ = std::thread();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      const Time next = timers_.empty() ? Time::max() : timers_.begin()->first;
      if (next > std::chrono::steady_clock::now()) {
        sleep_until(lock, next);
      } else {
        ringing_ = timers_.begin()->second;
        timers_.erase(timers_.begin());
        lock.unlock();
        ringing_->ring_();
        lock.lock();
        ringing_ = nullptr;
        rung_.notify_all();
      }
    }
  }

  // Most timers are destroyed early, so only an earlier deadline wakes the thread.
  void sleep_until(std::unique_lock<std::mutex>& lock, Time when) {
    asleep_until_ = when;
    if (when == Time::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, when);
    }
    asleep_until_ = Time::min();
  }

  std::mutex mutex_;
  Time asleep_until_ = Time::min();
  std::condition_variable changed_, rung_;
  std::multimap<Time, Timer*> timers_;
  Timer* ringing_ = nullptr;
  bool is_stopping_ = false;
  std::thread thread_;
};

namespace {

// The timers are never destroyed, because threads may hold timers at process exit.
TimerThread& timers() {
  static auto* const one = new TimerThread;
  return *one;
}

}  // namespace

Timer::Timer(Time when, std::function<void()> ring) : when_(when), ring_(std::move(ring)) {
  timers().add(this);
}

Timer::~Timer() {
  if (!is_forked()) {
    timers().remove(this);
  }
}

void Timer::stop_thread() { timers().stop(); }

}  // namespace torch_tern
