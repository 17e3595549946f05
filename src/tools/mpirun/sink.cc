// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/sink.hpp"

#include <linux/limits.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tern::mpirun {
namespace {

// epoll does not support regular files and /dev/null, which never block.
bool always_ready(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return true;
  return S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && ::isatty(fd) == 0);
}

}  // namespace

Sink::Sink(Loop& loop, int fd) : loop_(loop), fd_(fd), direct_(always_ready(fd)) {}

void Sink::write(const void* source, std::string_view bytes) {
  if (error_ != 0 || bytes.empty()) return;
  if (unfinished_ != nullptr && unfinished_ != source) queue_ += '\n';
  queue_ += bytes;
  unfinished_ = bytes.back() == '\n' ? nullptr : source;
  if (direct_) {
    while (!empty() && write_some(queue_.size())) {
    }
    compact();
    if (error_ != 0 && on_change) loop_.post(on_change);
  } else if (!watching_) {
    watching_ = true;
    loop_.watch(fd_, EPOLLOUT, [this] { pump(); });
  }
}

bool Sink::write_some(std::size_t most) {
  const std::size_t bytes = std::min(most, queue_.size() - sent_);
  const ssize_t written = ::write(fd_, queue_.data() + sent_, bytes);
  if (written > 0) sent_ += static_cast<std::size_t>(written);
  if (written >= 0 || errno == EINTR || errno == EAGAIN) return true;
  error_ = errno;
  sent_ = queue_.size();
  return false;
}

void Sink::compact() {
  if (sent_ == queue_.size()) {
    queue_.clear();
    sent_ = 0;
  } else if (sent_ > kFull) {
    queue_.erase(0, sent_);
    sent_ = 0;
  }
}

void Sink::pump() {
  const bool was_full = full();
  const bool alive = write_some(PIPE_BUF);
  compact();
  if (empty()) {
    loop_.forget(fd_);
    watching_ = false;
  }
  if (on_change && (!alive || empty() || (was_full && !full()))) on_change();
}

}  // namespace tern::mpirun
