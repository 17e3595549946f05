// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {

Loop::Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  if (!epoll_.valid() || !wake_.valid())
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot make its event loop: %s", std::strerror(errno)));
  watch(wake_.get(), EPOLLIN, [this] { run_posted(); });
}

void Loop::watch(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  const std::uint32_t serial = ++serials_;
  event.data.u64 = std::uint64_t{serial} << 32 | static_cast<std::uint32_t>(fd);
  const int verb = handlers_.count(fd) != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), verb, fd, &event) != 0)
    throw Error(MPI_ERR_OTHER,
                fd < 0 ? std::string("mpirun has no descriptors left; see ulimit -n")
                       : strf("mpirun cannot watch descriptor %d: %s", fd, std::strerror(errno)));
  handlers_[fd] = {serial, std::move(handler)};
}

void Loop::forget(int fd) noexcept {
  if (handlers_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::after(double seconds, const void* owner, Handler handler) {
  timers_.emplace(now_ns() + static_cast<std::int64_t>(seconds * 1e9),
                  Timer{owner, std::move(handler)});
}

void Loop::forget_timers(const void* owner) noexcept {
  for (auto timer = timers_.begin(); timer != timers_.end();)
    timer = timer->second.owner == owner ? timers_.erase(timer) : std::next(timer);
}

void Loop::post(Handler handler) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(handler));
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void Loop::run_posted() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  std::vector<Handler> now;
  {
    const std::lock_guard lock(mutex_);
    now.swap(posted_);
  }
  for (auto& handler : now) handler();
}

int Loop::milliseconds_to_next_timer() const {
  if (timers_.empty()) return -1;
  const std::int64_t left = timers_.begin()->first - now_ns();
  return static_cast<int>(std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 3'600'000));
}

void Loop::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_ns()) {
    const Handler handler = std::move(timers_.begin()->second.handler);
    timers_.erase(timers_.begin());
    handler();
  }
}

void Loop::run() {
  epoll_event events[64];
  while (running_) {
    const int count = ::epoll_wait(epoll_.get(), events, 64, milliseconds_to_next_timer());
    for (int i = 0; i < count && running_; ++i) {
      const auto found = handlers_.find(static_cast<int>(events[i].data.u64 & UINT32_MAX));
      if (found == handlers_.end() || found->second.serial != events[i].data.u64 >> 32)
        continue;                                     // an earlier handler has removed it
      const Handler handler = found->second.handler;  // a copy: the handler may remove itself
      handler();
    }
    run_timers();
  }
}

}  // namespace tern::mpirun
