// SPDX-License-Identifier: Apache-2.0
#include "io/direct_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "io/say_once.hpp"
#include "io/scratch.hpp"

namespace tern::io {
namespace {

constexpr size_t kMostDirect = size_t{1} << 30;

bool is_same_file(int one, int other) noexcept {
  struct stat first {
  }, second{};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

uint64_t page_bytes() noexcept { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

int open_again(const char* path, int flags) noexcept {
  int fd = -1;
  do fd = ::open(path, flags);
  while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

DirectFile& DirectFile::operator=(DirectFile&& other) noexcept {
  fd_ = std::move(other.fd_);
  name_ = std::move(other.name_);
  block_ = other.block_;
  memory_align_ = other.memory_align_;
  serves_.store(other.serves_.exchange(false, std::memory_order_relaxed),
                std::memory_order_relaxed);
  return *this;
}

int DirectFile::open(int buffered, const std::string& name) noexcept {
  const int mode = ::fcntl(buffered, F_GETFL);
  if (mode < 0) return errno;
  const int flags = (mode & O_ACCMODE) | O_DIRECT | O_CLOEXEC;
  char link[32];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", buffered);
  Fd fd(open_again(link, flags));
  if (!fd.valid() && errno == ENOENT) fd = Fd(open_again(name.c_str(), flags));  // without /proc
  if (!fd.valid()) return errno;
  if (!is_same_file(fd.get(), buffered)) return ESTALE;
  try {
    name_ = name;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  fd_ = std::move(fd);
  find_alignment();
  return fd_.valid() ? 0 : EINVAL;
}

void DirectFile::find_alignment() noexcept {
  constexpr auto is_usable = [](uint64_t bytes, uint64_t most) {
    return std::has_single_bit(bytes) && bytes <= most;
  };
  uint64_t file = 0, memory = kScratchAlignment;
  struct statfs facts {};
  if (::fstatfs(fd(), &facts) == 0) file = static_cast<uint64_t>(facts.f_bsize);
  if (!is_usable(file, kScratchBytes)) file = page_bytes();
#ifdef STATX_DIOALIGN
  struct statx asked {};
  if (::statx(fd(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &asked) == 0 &&
      (asked.stx_mask & STATX_DIOALIGN) != 0) {
    // 0: the file has no direct I/O.
    file = asked.stx_dio_offset_align;
    memory = asked.stx_dio_mem_align;
  }
#endif
  if (!is_usable(file, kScratchBytes) || !is_usable(memory, kScratchAlignment)) return fd_.reset();
  block_ = static_cast<int64_t>(std::max(file, page_bytes()));
  memory_align_ = memory;
}

DirectFile::Step DirectFile::step(const std::byte* memory, size_t bytes,
                                  int64_t at) const noexcept {
  const auto block = static_cast<size_t>(block_);
  const size_t before = static_cast<size_t>(at) & (block - 1);
  if (!serves()) return {std::min(bytes, kMostDirect)};
  if (before != 0) return {std::min(bytes, block - before)};
  if (bytes < block) return {bytes};
  Step found{std::min(bytes & ~(block - 1), kMostDirect), true};
  if ((reinterpret_cast<uintptr_t>(memory) & (memory_align_ - 1)) == 0) return found;
  found.bytes = std::min(found.bytes, kScratchBytes);
  found.copy = scratch(Scratch::kDirect);
  if (found.copy == nullptr) found.direct = false;
  return found;
}

size_t DirectFile::blocks_inside(size_t bytes, int64_t at) const noexcept {
  struct stat facts {};
  if (::fstat(fd(), &facts) != 0 || facts.st_size <= at) return 0;
  return std::min(bytes, static_cast<size_t>((facts.st_size - at) & -block_));
}

bool DirectFile::refused(int error) const noexcept {
  if (error != EINVAL && error != EOPNOTSUPP && error != EFAULT) return false;
  serves_.store(false, std::memory_order_relaxed);
  try {
    say_once(strf("the hint direct_io of %s ends: the file system refuses O_DIRECT (%s)",
                  name_.c_str(), std::strerror(error)));
  } catch (const std::bad_alloc&) {
  }
  return true;
}

int DirectFile::flush(int buffered, size_t bytes, int64_t at) noexcept {
  constexpr unsigned kAll =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  while (::sync_file_range(buffered, at, static_cast<int64_t>(bytes), kAll) != 0) {
    const bool lacks = errno == ENOSYS || errno == EINVAL || errno == ESPIPE;
    if (lacks) return ::fdatasync(buffered) == 0 || errno == EINVAL ? 0 : errno;
    if (errno != EINTR) return errno;
  }
  return 0;
}

ssize_t DirectFile::write(int buffered, const std::byte* from, size_t bytes,
                          int64_t at) const noexcept {
  const Step next = step(from, bytes, at);
  if (next.direct) {
    errno = flush(buffered, next.bytes, at);
    if (errno != 0) return -1;
    if (next.copy != nullptr) std::memcpy(next.copy, from, next.bytes);
    const void* const data = next.copy != nullptr ? next.copy : from;
    const ssize_t moved = ::pwrite(fd(), data, next.bytes, at);
    if (moved >= 0 || !refused(errno)) return moved;
  }
  return ::pwrite(buffered, from, next.bytes, at);
}

ssize_t DirectFile::read(int buffered, std::byte* to, size_t bytes, int64_t at) const noexcept {
  Step next = step(to, bytes, at);
  if (next.direct) {
    const size_t inside = blocks_inside(next.bytes, at);
    if (inside == 0) return ::pread(buffered, to, next.bytes, at);
    next.bytes = inside;
    errno = flush(buffered, next.bytes, at);
    if (errno != 0) return -1;
    void* const data = next.copy != nullptr ? next.copy : to;
    const ssize_t moved = ::pread(fd(), data, next.bytes, at);
    if (moved > 0 && next.copy != nullptr) std::memcpy(to, next.copy, static_cast<size_t>(moved));
    if (moved >= 0 || !refused(errno)) return moved;
  }
  return ::pread(buffered, to, next.bytes, at);
}

}  // namespace tern::io
