// SPDX-License-Identifier: Apache-2.0
#include "device_queue.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "operation.hpp"

namespace torch_tern {

namespace {

using std::chrono::microseconds;

constexpr microseconds kShortest{10}, kLongest{200};

// Older versions of PyTorch lack the query.
template <class Guard>
bool is_capturing(const Guard& guard, const c10::Stream& stream) {
  if constexpr (requires { guard.isStreamCapturing(stream); }) {
    return guard.isStreamCapturing(stream);
  }
  return false;
}

const c10::impl::DeviceGuardImplInterface& guard_of(const c10::Device& device) {
  return *c10::impl::getDeviceGuardImpl(device.type());
}

}  // namespace

c10::Stream current_stream(const c10::Device& device) { return guard_of(device).getStream(device); }

c10::Stream new_stream(const c10::Device& device) {
  return guard_of(device).getStreamFromGlobalPool(device);
}

bool is_capturing(const c10::Device& device) {
  return is_capturing(guard_of(device), current_stream(device));
}

void refuse_capture(const c10::Device& device, const char* words, const std::string& why) {
  TORCH_CHECK(!is_capturing(device), "tern: ", words, " was called while the current stream of ",
              device, " is captured into a graph, but the graph cannot contain it: ", why);
}

// The queue is never destroyed, because the thread may outlive main().
DeviceQueue& DeviceQueue::get() {
  static auto* const one = new DeviceQueue;
  return *one;
}

void DeviceQueue::wake() {
  if (!thread_.joinable()) {
    is_stopping_ = false;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void DeviceQueue::push(std::shared_ptr<Operation> operation) {
  TORCH_WARN_ONCE(
      "tern: sends and receives of CUDA tensors, and collectives without a stream, start when the "
      "host sees their data ready, and wait() blocks the host as well as the stream");
  ++operation->group()->queued;
  operation->guard([] {});
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(operation));
  wake();
}

void DeviceQueue::await_begun(const Group& group) {
  if (group.queued == 0) {
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return group.queued == 0; });
}

void DeviceQueue::keep_until_done(std::shared_ptr<Operation> operation,
                                  std::vector<at::Tensor> tensors) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::move(operation), std::move(tensors)});
  wake();
}

void DeviceQueue::await_done(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  if (thread_.joinable()) {
    changed_.wait_for(lock, most, [this] { return kept_.empty(); });
  }
}

void DeviceQueue::run() {
  std::unique_lock lock(mutex_);
  microseconds nap = kShortest;
  while (!is_stopping_) {
    if (waiting_.empty() && kept_.empty()) {
      changed_.wait(lock);
      nap = kShortest;
      continue;
    }
    const bool any = begin_ready(lock);
    drop_done(lock);
    if (!any && !is_stopping_) {
      changed_.wait_for(lock, nap);
      nap = std::min(nap * 2, kLongest);
    } else {
      nap = kShortest;
    }
  }
}

bool DeviceQueue::begin_ready(std::unique_lock<std::mutex>& lock) {
  std::set<const Group*> blocked;
  bool any = false;
  for (auto next = waiting_.begin(); next != waiting_.end() && !is_stopping_;) {
    const std::shared_ptr<Operation> operation = *next;
    Group& group = *operation->group();
    lock.unlock();  // other threads only append
    const bool begins = blocked.count(&group) == 0 && operation->is_ready();
    if (begins) {
      operation->make_queued_calls();
    } else {
      blocked.insert(&group);
    }
    lock.lock();
    if (begins) {
      next = waiting_.erase(next);
      --group.queued;
      changed_.notify_all();
      any = true;
    } else {
      ++next;
    }
  }
  return any;
}

void DeviceQueue::drop_done(std::unique_lock<std::mutex>& lock) {
  std::list<Kept> done;
  for (auto next = kept_.begin(); next != kept_.end();) {
    const auto here = next++;
    if (here->operation->on_device().are_ends_done()) {
      done.splice(done.end(), kept_, here);
    }
  }
  lock.unlock();
  const bool any = !done.empty();
  for (const Kept& one : done) {
    one.operation->settle(nullptr);
  }
  done.clear();
  lock.lock();
  if (any) {
    changed_.notify_all();
  }
}

void DeviceQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  thread_ = std::thread();
}

}  // namespace torch_tern
