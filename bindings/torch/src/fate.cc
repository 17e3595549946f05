// SPDX-License-Identifier: Apache-2.0
#include "fate.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace torch_tern {

namespace {

std::mutex hooks_mutex;
auto& hook_threads = *new std::vector<std::thread>;

bool is_recorder(const std::function<void()>& hook) {
  return std::string_view(hook.target_type().name()).find("FlightRecorder") !=
         std::string_view::npos;
}

// PyTorch's flight recorder imports this module in a thread, abandoned after 15 s. A thread inside
// an import aborts Python's exit, so the import happens here first.
void import_for_report() {
  const pybind11::gil_scoped_acquire python;
  Py_XDECREF(PyImport_ImportModule("torch._inductor.codecache"));
  PyErr_Clear();
}

void run_hook(const std::function<void()>& hook) {
  if (is_recorder(hook)) {
    import_for_report();
  }
  try {
    hook();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: an abort hook failed: %s\n", error.what());
  }
}

// The program's own hooks run first, because recorders may write for many seconds.
void run_hooks(std::map<std::int64_t, std::function<void()>> by_number) {
  if (by_number.empty()) {
    return;
  }
  std::vector<std::function<void()>> hooks;
  for (auto& [number, hook] : by_number) {
    hooks.push_back(std::move(hook));
  }
  std::stable_partition(hooks.begin(), hooks.end(), std::not_fn(is_recorder));
  std::packaged_task<void()> task([hooks = std::move(hooks)] {
    for (const auto& hook : hooks) {
      run_hook(hook);
    }
  });
  const std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(hooks_mutex);
    hook_threads.emplace_back(std::move(task));
  }
  done.wait_for(std::chrono::seconds(2));
}

}  // namespace

void await_hooks() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(hooks_mutex);
    threads.swap(hook_threads);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Fate::end(const std::function<std::string()>& why, bool by_timeout,
               const std::function<void()>& tell) {
  if (dead()) {
    return;
  }
  const std::lock_guard only_one(ending_);
  if (std::exchange(is_ending_, true)) {
    return;
  }
  std::map<std::int64_t, std::function<void()>> hooks;
  {
    const std::lock_guard lock(mutex_);
    hooks.swap(hooks_);
  }
  why_ = why();
  run_hooks(std::move(hooks));
  by_timeout_ = by_timeout;
  is_dead_.store(true, std::memory_order_release);
  tell();
}

void Fate::set_abort_hook(std::int64_t id, std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  hooks_[id] = std::move(hook);
}

void Fate::remove_abort_hook(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  hooks_.erase(id);
}

}  // namespace torch_tern
