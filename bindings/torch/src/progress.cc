// SPDX-License-Identifier: Apache-2.0
// The completion threads: the leader waits inside MPI, others run callbacks or sleep.
#include "progress.hpp"

#include <utility>

#include "operation.hpp"

namespace torch_tern {

// The object is never destroyed, because threads may outlive main().
Progress& Progress::get() {
  static auto* const one = new Progress;
  return *one;
}

bool Progress::is_idle() {
  const std::lock_guard lock(mutex_);
  return waiting_->is_empty() && ended_.empty() && !has_leader_;
}

void Progress::await_idle(std::chrono::milliseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (!is_idle() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Progress::want_leader() {
  if (has_leader_) {
    return;
  }
  if (idle_ > 0) {
    wanted_.notify_one();
  } else {
    is_stopping_ = false;
    threads_.emplace_back([this] { run(); });
  }
}

void Progress::kick() {
  const std::lock_guard lock(mutex_);
  waiting_->wake();
}

void Progress::submit(std::shared_ptr<Operation> operation) {
  operation->guard([this] { kick(); });
  const std::lock_guard lock(mutex_);
  waiting_->add(std::move(operation));
  want_leader();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wanted_.wait(lock, [this] { return is_stopping_ || (!has_leader_ && !waiting_->is_empty()); });
    --idle_;
    if (is_stopping_) {
      return;
    }
    has_leader_ = true;
    lead(lock);
    has_leader_ = false;
    if (!waiting_->is_empty() && !is_stopping_) {
      want_leader();
    }
    std::vector<Ended> ended = std::exchange(ended_, {});
    lock.unlock();
    for (Ended& one : ended) {
      one.operation->conclude(one.error);
      one.operation.reset();
    }
    lock.lock();
  }
}

void Progress::lead(std::unique_lock<std::mutex>& lock) {
  while (ended_.empty() && !waiting_->is_empty() && !is_stopping_) {
    ended_ = waiting_->wait(lock);
  }
}

void Progress::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    waiting_->wake();
    wanted_.notify_all();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const std::lock_guard lock(mutex_);
  is_stopping_ = false;
}

}  // namespace torch_tern
