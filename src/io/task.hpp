// SPDX-License-Identifier: Apache-2.0
// Task: a coroutine that waits for conditions. Why: a collective transfer is a loop with meetings;
// the blocking call waits in place, and the nonblocking call continues in progress.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <utility>

namespace tern::io {

class Task {
 public:
  struct promise_type {
    Task get_return_object() noexcept {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    static Task get_return_object_on_allocation_failure() noexcept { return Task(); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
  };

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }
  /// False without memory for the coroutine.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(handle_); }
  [[nodiscard]] bool done() const noexcept { return handle_.done(); }
  void resume() noexcept { handle_.resume(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace tern::io
