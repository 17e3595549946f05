// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/closer.hpp"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "base/signals.hpp"

namespace tern::btl::cuda_ipc {

void Closer::end() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ends_ = true;
  }
  given_.notify_one();
  thread_.join();
}

void Closer::close(std::shared_ptr<Going> one) {
  try {
    if (!thread_.joinable()) {
      const SignalsBlocked blocked;
      thread_ = std::thread([this] { run(); });
      ::pthread_setname_np(thread_.native_handle(), "tern-closer");
    }
  } catch (const std::system_error&) {
    unmap(*one);
    return;
  }
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    queue_.push_back(std::move(one));
  }
  given_.notify_one();
}

void Closer::wait(std::chrono::microseconds most) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait_for(lock, most, [this] { return queue_.empty(); });
}

void Closer::run() noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    given_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::shared_ptr<Going> one = queue_.front();
    lock.unlock();
    unmap(*one);
    lock.lock();
    queue_.pop_front();
    if (queue_.empty()) done_.notify_all();
  }
}

void Closer::unmap(Going& one) noexcept {
  one.unmapped = cuda_ipc::unmap(one.what);
  one.over.store(true, std::memory_order_release);
}

}  // namespace tern::btl::cuda_ipc
