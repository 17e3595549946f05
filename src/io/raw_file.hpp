// SPDX-License-Identifier: Apache-2.0
// RawFile: the descriptor of a file, with system calls that finish short transfers, and errors that
// name rank, bytes, offset and file.
// Threads: any; no call uses the descriptor's offset.
#pragma once

#include <fcntl.h>
#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/params.hpp"
#include "io/direct_file.hpp"
#include "io/page_locks.hpp"

namespace tern::io {

class DirectStorage;

/// The MPI error class of an errno (MPI-5.0 section 14.7).
[[nodiscard]] int class_of_errno(int error) noexcept;

/// The file system's properties, as far as transfers depend on them.
struct FileSystem {
  const char* name = "unknown";
  bool maps = false;           // a shared mapping is coherent with pread and pwrite, on one host
  bool is_local = false;       // no other host changes the file
  bool caches = false;         // writes of other hosts show after a lock; pages need locks
  int64_t least_write = 2048;  // blocks from this size on are written by pwrite
  bool faults_fast = false;    // a write fault of a cached page takes less than a microsecond
  int64_t block = 4096;
  int64_t stripe = 0;  // bytes on one storage target; 0: unknown
  /// pwrite replaces cached pages faster than a mapping from blocks of this size on.
  static constexpr int64_t kLeastOverwrite = 16384;
  [[nodiscard]] int64_t least_overwrite() const noexcept {
    constexpr int64_t kAboveAPage = 4097;
    return faults_fast ? kLeastOverwrite : kAboveAPage;
  }
};

class RawFile {
 public:
  RawFile() = default;
  RawFile(Fd fd, std::string name, int rank);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const FileSystem& system() const noexcept { return system_; }
  void set_system(const FileSystem& system) noexcept { system_ = system; }
  /// The second descriptor; the opener decides on its use.
  [[nodiscard]] const DirectFile& direct() const noexcept { return direct_; }
  [[nodiscard]] DirectFile& direct() noexcept { return direct_; }
  /// The way of device memory past the host, or null.
  [[nodiscard]] DirectStorage* storage() const noexcept { return storage_.get(); }
  void set_storage(std::shared_ptr<DirectStorage> storage) noexcept {
    storage_ = std::move(storage);
  }

  [[nodiscard]] Failure write(const void* from, size_t bytes, int64_t at) const noexcept;
  /// Changes the list. At most IOV_MAX parts.
  [[nodiscard]] Failure write(iovec* parts, size_t count, int64_t at) const noexcept;
  /// *done < bytes only at the end of the file, or after an error.
  [[nodiscard]] Failure read(void* to, size_t bytes, int64_t at, size_t* done) const noexcept;
  [[nodiscard]] Failure read(iovec* parts, size_t count, int64_t at, size_t* done) const noexcept;

  [[nodiscard]] Failure size(int64_t* bytes) const noexcept;
  [[nodiscard]] Failure set_size(int64_t bytes) const noexcept;
  /// Allocates the range, and extends the file to its end. *refused: the system cannot.
  [[nodiscard]] Failure allocate(int64_t at, int64_t bytes, bool* refused) const noexcept;
  /// Allocates the first bytes, and extends a shorter file.
  [[nodiscard]] Failure extend(int64_t bytes) const noexcept;
  [[nodiscard]] Failure sync() const noexcept;
  /// Afterwards reads find the flushed data of other hosts.
  [[nodiscard]] Failure refresh() const noexcept;
  /// Passes an advice of posix_fadvise(2) about the whole file.
  void advise(int advice) const noexcept { (void)::posix_fadvise(fd(), 0, 0, advice); }
  [[nodiscard]] Failure close() noexcept;
  /// True the first time for a bit.
  [[nodiscard]] bool explains_first(uint32_t bit) const noexcept {
    return (std::atomic_ref<uint32_t>(explained_).fetch_or(bit) & bit) == 0;
  }
  [[nodiscard]] Failure failed(const char* verb, int error) const noexcept;

 private:
  // Like pwrite(2) and pread(2); fewer bytes are no error.
  [[nodiscard]] ssize_t write_some(const std::byte* from, size_t bytes, int64_t at) const noexcept;
  [[nodiscard]] ssize_t read_some(std::byte* to, size_t bytes, int64_t at) const noexcept;
  [[nodiscard]] Failure read_copied(void* to, size_t bytes, int64_t at,
                                    size_t* done) const noexcept;
  [[nodiscard]] Failure read_directly(void* to, size_t bytes, int64_t at,
                                      size_t* done) const noexcept;
  /// Locks partly written pages, if the file system needs locks.
  [[nodiscard]] Failure lock_pages(int64_t at, size_t bytes, PageLocks::Held* held) const noexcept;
  [[nodiscard]] Failure not_locked(int error) const noexcept;
  [[nodiscard]] Failure short_of(const char* verb, size_t done, size_t bytes, int64_t at,
                                 int error) const noexcept;

  Fd fd_;
  DirectFile direct_;
  std::shared_ptr<DirectStorage> storage_;  // ends before the descriptors
  std::string name_;
  int rank_ = 0;
  FileSystem system_;
  mutable uint32_t explained_ = 0;
  PageLocks locks_;
};

/// Finds the properties by statfs(2); `hosts` is the number of hosts that opened the file.
[[nodiscard]] FileSystem find_system(int fd, int hosts, IoSystem named = IoSystem::kAuto) noexcept;

}  // namespace tern::io
