// SPDX-License-Identifier: Apache-2.0
// DirectFile: a second descriptor of a file, opened with O_DIRECT, for the whole blocks of a range.
// Why: large transfers need no copy in the page cache (hint direct_io), and GPUDirect Storage takes
// such descriptors alone.
// Coherence: a block is at least a page, so no page holds bytes of both descriptors in one call.
// Dirty pages of the range are written first; the kernel drops the pages of a direct write.
// Lifetime: its RawFile. Threads: any.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.hpp"

namespace tern::io {

class DirectFile {
 public:
  DirectFile() = default;
  DirectFile(DirectFile&& other) noexcept { *this = std::move(other); }
  DirectFile& operator=(DirectFile&& other) noexcept;

  /// Opens the file of `buffered` again. Returns an errno, EINVAL if the file has no direct I/O.
  [[nodiscard]] int open(int buffered, const std::string& name) noexcept;
  void close() noexcept { fd_.reset(); }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] int64_t block() const noexcept { return block_; }
  /// Whether host memory takes this way.
  [[nodiscard]] bool serves() const noexcept { return serves_.load(std::memory_order_relaxed); }
  void serve() noexcept { serves_.store(true, std::memory_order_relaxed); }

  /// Like pwrite(2) and pread(2), for the first part of the range: whole blocks by O_DIRECT, or
  /// bytes outside whole blocks through `buffered`.
  [[nodiscard]] ssize_t write(int buffered, const std::byte* from, size_t bytes,
                              int64_t at) const noexcept;
  [[nodiscard]] ssize_t read(int buffered, std::byte* to, size_t bytes, int64_t at) const noexcept;
  /// The bytes of whole blocks in front of the end of the file. A direct read of the last, partial
  /// block changes memory behind the bytes that the call counts.
  [[nodiscard]] size_t blocks_inside(size_t bytes, int64_t at) const noexcept;
  /// Writes the dirty pages of a range. Returns an errno.
  [[nodiscard]] static int flush(int buffered, size_t bytes, int64_t at) noexcept;

 private:
  /// The next system call.
  struct Step {
    size_t bytes = 0;
    bool direct = false;
    std::byte* copy = nullptr;  // aligned memory instead of the caller's
  };
  [[nodiscard]] Step step(const std::byte* memory, size_t bytes, int64_t at) const noexcept;
  /// Whether the file system refuses O_DIRECT after all. Afterwards serves() is false.
  [[nodiscard]] bool refused(int error) const noexcept;
  /// Closes the descriptor of a file without direct I/O.
  void find_alignment() noexcept;

  Fd fd_;
  std::string name_;
  int64_t block_ = 4096;        // a power of two
  size_t memory_align_ = 4096;  // a power of two
  mutable std::atomic<bool> serves_{false};
};

}  // namespace tern::io
