// SPDX-License-Identifier: Apache-2.0
#include "io/page_locks.hpp"

#include <errno.h>
#include <fcntl.h>

#include <utility>

namespace tern::io {
namespace {

constexpr int64_t kLockedPage = 4096;

/// Bytes [at, at + bytes); 0 bytes reach to the end of all offsets.
int change(int fd, short type, int64_t at, int64_t bytes) noexcept {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = at;
  range.l_len = bytes;
  while (::fcntl(fd, F_OFD_SETLKW, &range) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

}  // namespace

PageLocks::Held& PageLocks::Held::operator=(Held&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(first_, other.first_);
  std::swap(last_, other.last_);
  std::swap(turn_, other.turn_);
  return *this;
}

PageLocks::Held::~Held() {
  for (const int64_t page : {first_, last_})
    if (page >= 0) (void)change(fd_, F_UNLCK, page, kLockedPage);
}

// All ranks lock in rising order.
int PageLocks::take(int fd, int64_t at, size_t bytes, Held* held) const noexcept {
  const int64_t end = at + static_cast<int64_t>(bytes);
  const int64_t first = at & -kLockedPage, last = end & -kLockedPage;
  const bool cuts_last = end != last, cuts_first = at != first && !(cuts_last && first == last);
  if (bytes == 0 || (!cuts_first && !cuts_last)) return 0;
  held->turn_ = std::unique_lock<std::mutex>(*mutex_);
  held->fd_ = fd;
  if (cuts_first) {
    if (const int error = change(fd, F_WRLCK, first, kLockedPage); error != 0) return error;
    held->first_ = first;
  }
  if (!cuts_last) return 0;
  if (const int error = change(fd, F_WRLCK, last, kLockedPage); error != 0) return error;
  held->last_ = last;
  return 0;
}

int PageLocks::refresh(int fd) noexcept {
  int error = change(fd, F_RDLCK, 0, 0);
  if (error == EBADF) error = change(fd, F_WRLCK, 0, 0);  // the file is not open for reading
  return error != 0 ? error : change(fd, F_UNLCK, 0, 0);
}

}  // namespace tern::io
