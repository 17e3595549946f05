// SPDX-License-Identifier: Apache-2.0
#include "io/worker.hpp"

#include <pthread.h>
#include <signal.h>

#include <exception>

namespace tern::io {

std::shared_ptr<Worker> Worker::shared() {
  static std::mutex mutex;
  static auto& latest = *new std::weak_ptr<Worker>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Worker> worker = latest.lock();
  if (worker == nullptr) latest = worker = std::make_shared<Worker>();
  return worker;
}

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Worker::add(Job& job) noexcept {
  try {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) {
      sigset_t all, before;
      sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before);
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::exception&) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return false;
      }
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    jobs_.push_back(&job);
  } catch (const std::exception&) {
    return false;
  }
  wake_.notify_one();
  return true;
}

void Worker::run() noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job* const job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    job->work();
    lock.lock();
  }
}

}  // namespace tern::io
