// SPDX-License-Identifier: Apache-2.0
#include "cuda/event_pool.hpp"

#include <cstring>
#include <new>
#include <set>

#include "base/process_id.hpp"

namespace tern::cuda {
namespace {

constexpr size_t kMostOpened = 16384;

/// Names from peers are validated against these events.
class Named {
 public:
  static Named& instance() noexcept {
    static Named& all = *new Named;  // outlives all static objects
    return all;
  }
  void add(CUevent event) {
    const std::lock_guard<std::mutex> guard(mutex_);
    events_.insert(event);
  }
  void remove(CUevent event) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    events_.erase(event);
  }
  [[nodiscard]] CUevent find(uint64_t name) noexcept {
    const auto event = reinterpret_cast<CUevent>(name);
    const std::lock_guard<std::mutex> guard(mutex_);
    return events_.contains(event) ? event : nullptr;
  }

 private:
  std::mutex mutex_;
  std::set<CUevent> events_;
};

std::string key_of(const EventName& name) {
  std::string key(reinterpret_cast<const char*>(&name.process), sizeof name.process);
  return key.append(reinterpret_cast<const char*>(name.handle), sizeof name.handle);
}

}  // namespace

Events::~Events() { forget(); }

CUevent Events::acquire(EventName* name, CUresult* error) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!idle_.empty()) {
    const Own own = idle_.back();
    idle_.pop_back();
    *name = own.name;
    return own.event;
  }
  CUevent event = nullptr;
  *error = driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  if (*error != CUDA_SUCCESS) return nullptr;
  CUipcEventHandle handle;
  static_assert(sizeof handle == sizeof name->handle);
  *error = driver_.cuIpcGetEventHandle(&handle, event);
  try {
    if (*error == CUDA_SUCCESS) Named::instance().add(event);
  } catch (const std::bad_alloc&) {
    *error = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (*error != CUDA_SUCCESS) {
    (void)driver_.cuEventDestroy_v2(event);
    return nullptr;
  }
  *name = {process_id(), reinterpret_cast<uint64_t>(event), {}};
  std::memcpy(name->handle, &handle, sizeof handle);
  return event;
}

void Events::release(CUevent event, const EventName& name) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    idle_.push_back({event, name});
  } catch (const std::bad_alloc&) {
    Named::instance().remove(event);
    (void)driver_.cuEventDestroy_v2(event);
  }
}

CUevent Events::open(const EventName& name, CUresult* error) noexcept {
  if (name.process == process_id()) {
    const CUevent own = Named::instance().find(name.event);
    if (own == nullptr) *error = CUDA_ERROR_INVALID_HANDLE;
    return own;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    const std::string key = key_of(name);
    if (const auto found = opened_.find(key); found != opened_.end()) return found->second;
    if (opened_.size() >= kMostOpened) throw std::bad_alloc();
    CUevent& event = opened_[key];
    CUipcEventHandle handle;
    std::memcpy(&handle, name.handle, sizeof handle);
    *error = driver_.cuIpcOpenEventHandle(&event, handle);
    if (*error == CUDA_SUCCESS) return event;
    opened_.erase(key);
  } catch (const std::bad_alloc&) {
    *error = CUDA_ERROR_OUT_OF_MEMORY;
  }
  return nullptr;
}

void Events::destroy() noexcept {
  for (const Own& own : idle_) (void)driver_.cuEventDestroy_v2(own.event);
  for (const auto& [key, event] : opened_) (void)driver_.cuEventDestroy_v2(event);
  forget();
}

void Events::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const Own& own : idle_) Named::instance().remove(own.event);
  idle_.clear();
  opened_.clear();
}

void Events::forget(CUevent event) noexcept { Named::instance().remove(event); }

}  // namespace tern::cuda
