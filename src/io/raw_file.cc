// SPDX-License-Identifier: Apache-2.0
#include "io/raw_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "io/scratch.hpp"
#include "io/slow_copy.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr size_t kMostPerCall = size_t{1} << 30;  // the kernel moves at most 0x7ffff000 bytes

struct ErrnoRow {
  int error, mpi_class;
};
constexpr ErrnoRow kClasses[] = {
    {EACCES, MPI_ERR_ACCESS},      {EPERM, MPI_ERR_ACCESS},    {ENOENT, MPI_ERR_NO_SUCH_FILE},
    {EEXIST, MPI_ERR_FILE_EXISTS}, {EISDIR, MPI_ERR_BAD_FILE}, {ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {ENOTDIR, MPI_ERR_BAD_FILE},   {ELOOP, MPI_ERR_BAD_FILE},  {EROFS, MPI_ERR_READ_ONLY},
    {ENOSPC, MPI_ERR_NO_SPACE},    {EDQUOT, MPI_ERR_QUOTA},    {ETXTBSY, MPI_ERR_FILE_IN_USE},
    {EBUSY, MPI_ERR_FILE_IN_USE},  {ENOMEM, MPI_ERR_NO_MEM},
};

enum class Reach : uint8_t { kLocal, kCoherent, kCaches };
struct SystemRow {
  unsigned long magic;
  const char* name;
  bool maps;
  int64_t least_write;
  Reach reach = Reach::kLocal;
};
// Numbers without a name in linux/magic.h: statfs(2).
constexpr unsigned long kXfs = 0x58465342, kF2fs = 0xF2F52010, kZfs = 0x2FC12FC1,
                        kLustre = 0x0BD00BD0, kGpfs = 0x47504653, kFuse = 0x65735546;
constexpr SystemRow kSystems[] = {
    {TMPFS_MAGIC, "tmpfs", true, 2048},
    {EXT4_SUPER_MAGIC, "ext4", true, 1024},
    {kXfs, "xfs", true, 1024},
    // Writes data to new places: a store can need space after MADV_POPULATE_WRITE, and SIGBUS ends
    // the process on a full disk.
    {BTRFS_SUPER_MAGIC, "btrfs", false, 1},
    {kF2fs, "f2fs", true, 1024},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", true, 1024},
    {kZfs, "zfs", false, 1},
    {kLustre, "lustre", false, 1, Reach::kCoherent},
    {kGpfs, "gpfs", false, 1, Reach::kCoherent},
    {NFS_SUPER_MAGIC, "nfs", false, 1, Reach::kCaches},
    {kFuse, "fuse", false, 1, Reach::kCaches},
};

void drop_front(iovec*& parts, size_t& count, size_t bytes) noexcept {
  while (count > 0 && bytes >= parts->iov_len) {
    bytes -= parts->iov_len;
    ++parts;
    --count;
  }
  if (count == 0) return;
  parts->iov_base = static_cast<std::byte*>(parts->iov_base) + bytes;
  parts->iov_len -= bytes;
}

size_t sum(const iovec* parts, size_t count) noexcept {
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

/// overlayfs passes the facts of the upper folder, and btrfs counts no files.
bool lies_on_btrfs(const struct statfs& facts) noexcept {
  return facts.f_type == OVERLAYFS_SUPER_MAGIC && facts.f_files == 0;
}

}  // namespace

int class_of_errno(int error) noexcept {
  for (const ErrnoRow& row : kClasses)
    if (row.error == error) return row.mpi_class;
  return MPI_ERR_IO;
}

FileSystem find_system(int fd, int hosts, IoSystem named) noexcept {
  FileSystem found;
  found.caches = hosts > 1;
  struct statfs facts {};
  int called = -1;
  do called = ::fstatfs(fd, &facts);
  while (called != 0 && errno == EINTR);
  if (called != 0) return found;
  found.block = std::max<int64_t>(facts.f_bsize, 512);
  const auto magic = named == IoSystem::kNfs ? static_cast<unsigned long>(NFS_SUPER_MAGIC)
                                             : static_cast<unsigned long>(facts.f_type);
  for (const SystemRow& row : kSystems) {
    if (magic != row.magic) continue;
    found.name = row.name;
    found.is_local = row.reach == Reach::kLocal;
    found.caches = row.reach == Reach::kCaches && hosts > 1;
    found.maps = row.maps && hosts == 1 && !lies_on_btrfs(facts);
    found.least_write = row.least_write;
    found.faults_fast = row.magic == TMPFS_MAGIC;
  }
  return found;
}

RawFile::RawFile(Fd fd, std::string name, int rank)
    : fd_(std::move(fd)), name_(std::move(name)), rank_(rank) {}

Failure RawFile::short_of(const char* verb, size_t done, size_t bytes, int64_t at,
                          int error) const noexcept {
  return failure(class_of_errno(error), "rank %d %s %zu of %zu bytes at %lld of %s: %s", rank_,
                 verb, done, bytes, static_cast<long long>(at), name_.c_str(),
                 error == 0 ? "the system wrote no byte" : std::strerror(error));
}

Failure RawFile::failed(const char* verb, int error) const noexcept {
  return failure(class_of_errno(error), "rank %d cannot %s %s: %s", rank_, verb, name_.c_str(),
                 std::strerror(error));
}

Failure RawFile::not_locked(int error) const noexcept {
  constexpr int kWithoutLocks[] = {ENOLCK, EINVAL, EOPNOTSUPP, ENOSYS, EIO};
  if (std::find(std::begin(kWithoutLocks), std::end(kWithoutLocks), error) ==
      std::end(kWithoutLocks))
    return failed("lock", error);
  return failure(MPI_ERR_IO,
                 "rank %d cannot lock pages of %s (%s), which ranks of several hosts write: mount "
                 "%s without nolock, and check that the server's lock service runs",
                 rank_, name_.c_str(), std::strerror(error), system_.name);
}

Failure RawFile::lock_pages(int64_t at, size_t bytes, PageLocks::Held* held) const noexcept {
  const int error = locks_.take(fd(), at, bytes, held);
  return TERN_LIKELY(error == 0) ? Failure{} : not_locked(error);
}

Failure RawFile::refresh() const noexcept {
  if (!system_.caches) return {};
  const int error = PageLocks::refresh(fd());
  return error == 0 ? Failure{} : not_locked(error);
}

Failure RawFile::write(const void* from, size_t bytes, int64_t at) const noexcept {
  PageLocks::Held held;
  if (TERN_UNLIKELY(system_.caches))
    if (Failure failed = lock_pages(at, bytes, &held)) return failed;
  const auto* const data = static_cast<const std::byte*>(from);
  for (size_t done = 0; done < bytes;) {
    const ssize_t moved = write_some(data + done, bytes - done, at + static_cast<int64_t>(done));
    if (moved > 0)
      done += static_cast<size_t>(moved);
    else if (moved == 0 || errno != EINTR)
      return short_of("wrote", done, bytes, at, moved == 0 ? 0 : errno);
  }
  return {};
}

ssize_t RawFile::write_some(const std::byte* from, size_t bytes, int64_t at) const noexcept {
  if (TERN_UNLIKELY(direct_.serves())) return direct_.write(fd(), from, bytes, at);
  return ::pwrite(fd(), from, std::min(bytes, kMostPerCall), at);
}

ssize_t RawFile::read_some(std::byte* to, size_t bytes, int64_t at) const noexcept {
  if (TERN_UNLIKELY(direct_.serves())) return direct_.read(fd(), to, bytes, at);
  return ::pread(fd(), to, std::min(bytes, kMostPerCall), at);
}

Failure RawFile::write(iovec* parts, size_t count, int64_t at) const noexcept {
  const size_t bytes = sum(parts, count);
  PageLocks::Held held;
  if (TERN_UNLIKELY(system_.caches))
    if (Failure failed = lock_pages(at, bytes, &held)) return failed;
  for (size_t done = 0; done < bytes;) {
    const ssize_t moved =
        parts->iov_len > kMostPerCall
            ? ::pwrite(fd(), parts->iov_base, kMostPerCall, at + static_cast<int64_t>(done))
            : ::pwritev(fd(), parts, static_cast<int>(count), at + static_cast<int64_t>(done));
    if (moved > 0) {
      done += static_cast<size_t>(moved);
      drop_front(parts, count, static_cast<size_t>(moved));
    } else if (moved == 0 || errno != EINTR) {
      return short_of("wrote", done, bytes, at, moved == 0 ? 0 : errno);
    }
  }
  return {};
}

Failure RawFile::read(void* to, size_t bytes, int64_t at, size_t* done) const noexcept {
  if (TERN_UNLIKELY(slow_copy(reinterpret_cast<uintptr_t>(to), static_cast<uint64_t>(at), bytes)) &&
      !direct_.serves())
    return read_copied(to, bytes, at, done);
  return read_directly(to, bytes, at, done);
}

Failure RawFile::read_copied(void* to, size_t bytes, int64_t at, size_t* done) const noexcept {
  constexpr size_t kPiece = 128 * 1024;  // stays in the second-level cache
  auto* const data = static_cast<std::byte*>(to);
  for (*done = 0; *done < bytes;) {
    const int64_t next = at + static_cast<int64_t>(*done);
    const size_t some = std::min(bytes - *done, kPiece);
    std::byte* const copy = scratch(Scratch::kCopy, next);
    size_t got = 0;
    if (copy == nullptr) {
      Failure failed = read_directly(data + *done, bytes - *done, next, &got);
      *done += got;
      return failed;
    }
    Failure failed = read_directly(copy, some, next, &got);
    std::memcpy(data + *done, copy, got);
    *done += got;
    if (failed || got < some) return failed;
  }
  return {};
}

Failure RawFile::read_directly(void* to, size_t bytes, int64_t at, size_t* done) const noexcept {
  auto* const data = static_cast<std::byte*>(to);
  for (*done = 0; *done < bytes;) {
    const ssize_t moved = read_some(data + *done, bytes - *done, at + static_cast<int64_t>(*done));
    if (moved == 0) break;
    if (moved > 0)
      *done += static_cast<size_t>(moved);
    else if (errno != EINTR)
      return short_of("read", *done, bytes, at, errno);
  }
  return {};
}

Failure RawFile::read(iovec* parts, size_t count, int64_t at, size_t* done) const noexcept {
  const size_t bytes = sum(parts, count);
  for (*done = 0; *done < bytes;) {
    const ssize_t moved =
        parts->iov_len > kMostPerCall
            ? ::pread(fd(), parts->iov_base, kMostPerCall, at + static_cast<int64_t>(*done))
            : ::preadv(fd(), parts, static_cast<int>(count), at + static_cast<int64_t>(*done));
    if (moved == 0) break;
    if (moved > 0) {
      *done += static_cast<size_t>(moved);
      drop_front(parts, count, static_cast<size_t>(moved));
    } else if (errno != EINTR) {
      return short_of("read", *done, bytes, at, errno);
    }
  }
  return {};
}

Failure RawFile::size(int64_t* bytes) const noexcept {
  if (system_.caches) {
    struct statx asked {};
    if (::statx(fd(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &asked) != 0)
      return failed("find the size of", errno);
    *bytes = static_cast<int64_t>(asked.stx_size);
    return {};
  }
  // lseek(2) takes half the time of fstat(2), and no call uses the descriptor's offset.
  const off_t end = ::lseek(fd(), 0, SEEK_END);
  if (end < 0) return failed("find the size of", errno);
  *bytes = end;
  return {};
}

Failure RawFile::set_size(int64_t bytes) const noexcept {
  while (::ftruncate(fd(), bytes) != 0)
    if (errno != EINTR) return failed("set the size of", errno);
  return {};
}

Failure RawFile::allocate(int64_t at, int64_t bytes, bool* refused) const noexcept {
  int called = -1;
  do called = ::fallocate(fd(), 0, at, bytes);
  while (called != 0 && errno == EINTR);
  *refused = called != 0 && (errno == EOPNOTSUPP || errno == ENOSYS);
  return called == 0 || *refused ? Failure{} : failed("allocate space for", errno);
}

Failure RawFile::extend(int64_t bytes) const noexcept {
  if (bytes == 0) return {};
  bool refused = false;
  if (Failure failed = allocate(0, bytes, &refused); failed || !refused) return failed;
  int64_t end = 0;
  if (Failure failed = size(&end)) return failed;
  const std::vector<std::byte> zeros(
      static_cast<size_t>(std::min<int64_t>(std::max<int64_t>(bytes - end, 0), int64_t{1} << 20)));
  for (; end < bytes; end += static_cast<int64_t>(zeros.size()))
    if (Failure failed =
            write(zeros.data(), std::min(zeros.size(), static_cast<size_t>(bytes - end)), end))
      return failed;
  return {};
}

Failure RawFile::sync() const noexcept {
  while (::fsync(fd()) != 0) {
    if (errno == EINVAL) return {};  // a device without a cache
    if (errno != EINTR) return failed("flush", errno);
  }
  return {};
}

Failure RawFile::close() noexcept {
  storage_.reset();
  direct_.close();
  // After EINTR, Linux has closed the descriptor.
  const int number = fd_.release();
  if (number < 0 || ::close(number) == 0 || errno == EINTR) return {};
  return failed("close", errno);
}

}  // namespace tern::io
