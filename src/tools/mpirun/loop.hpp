// SPDX-License-Identifier: Apache-2.0
// mpirun's event loop: descriptors, timers, and calls posted by other threads.
// Threads: post() from any thread, everything else from the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fd.hpp"

namespace tern::mpirun {

class Loop {
 public:
  using Handler = std::function<void()>;

  Loop();

  // Calls `handler` whenever `fd` is ready for `events` (EPOLLIN, EPOLLOUT). One handler per fd.
  void watch(int fd, std::uint32_t events, Handler handler);
  void forget(int fd) noexcept;

  void after(double seconds, Handler handler) { after(seconds, nullptr, std::move(handler)); }
  // `owner`: for forget_timers().
  void after(double seconds, const void* owner, Handler handler);
  void forget_timers(const void* owner) noexcept;

  void post(Handler handler);

  void run();
  void stop() noexcept { running_ = false; }

 private:
  [[nodiscard]] int milliseconds_to_next_timer() const;
  void run_timers();
  void run_posted();

  Fd epoll_;
  Fd wake_;
  bool running_ = true;
  // A number returns after close(), so each watch also has a serial number.
  struct Watched {
    std::uint32_t serial;
    Handler handler;
  };
  std::unordered_map<int, Watched> handlers_;
  std::uint32_t serials_ = 0;
  struct Timer {
    const void* owner;
    Handler handler;
  };
  std::multimap<std::int64_t, Timer> timers_;
  std::mutex mutex_;
  std::vector<Handler> posted_;
};

}  // namespace tern::mpirun
