// SPDX-License-Identifier: Apache-2.0
// FileWindow: a shared mapping of a part of a file, kept between calls. Why: on ext4 the first
// write fault of a page costs microseconds; later stores cost none until the page is written back.
// Safety: fallocate extends a short file with disk space, and MADV_POPULATE_WRITE (Linux 5.14)
// gives each page disk space before the first store, so a full disk causes an error instead of a
// signal. A process that truncates the file during a copy ends this process with SIGBUS;
// TERN_IO=plain avoids mappings.
// Growth: since Linux 6.13 (pagecache_isize_extended) the kernel first shows a new size of a file,
// and then puts zeros behind the old end. The zeros would replace the stores of a process that
// uses the new size between these steps. A call of fallocate waits for the zeros.
// Threads: any; a single caller uses the window, and concurrent callers map separate ranges.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "io/raw_file.hpp"

namespace tern::io {

class FileWindow {
 public:
  static constexpr int64_t kBytes = int64_t{64} << 20;

  /// A mapped range, for one copy.
  class Range {
   public:
    [[nodiscard]] bool valid() const noexcept { return memory_ != nullptr; }
    /// The memory of the range's first byte.
    [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

   private:
    friend class FileWindow;
    std::byte* memory_ = nullptr;
    Mapping own_;
    std::unique_lock<std::mutex> lock_;
  };

  /// Maps bytes [low, high) of the file, at most kBytes; no valid range if the kernel refuses.
  [[nodiscard]] Failure map(const RawFile& file, int64_t low, int64_t high, Range* range) noexcept;
  /// The file may have become shorter.
  void forget_size() noexcept { settled_.store(-1, std::memory_order_relaxed); }

 private:
  [[nodiscard]] Failure reserve(const RawFile& file, int64_t low, int64_t high,
                                bool* refused) noexcept;
  [[nodiscard]] std::byte* take(const RawFile& file, int64_t low, int64_t high) noexcept;

  std::mutex mutex_;
  Mapping mapping_;
  int64_t from_ = 0;
  std::atomic<int64_t> settled_{-1};  // a size of the file, after its zeros are in place
};

}  // namespace tern::io
