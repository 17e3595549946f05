// SPDX-License-Identifier: Apache-2.0
// FileWindow: a shared mapping of a part of a file, kept between calls. Why: on ext4 the first
// write fault of a page costs microseconds; later stores cost none until the page is written back.
// Safety: fallocate extends a short file with disk space, and MADV_POPULATE_WRITE (Linux 5.14)
// gives each page disk space before the first store, so a full disk causes an error instead of a
// signal. A process that truncates the file during a copy ends this process with SIGBUS;
// TERN_IO=plain avoids mappings.
// Threads: any; a single caller uses the window, and concurrent callers map separate ranges.
#pragma once

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

 private:
  [[nodiscard]] std::byte* take(const RawFile& file, int64_t low, int64_t high) noexcept;

  std::mutex mutex_;
  Mapping mapping_;
  int64_t from_ = 0;
};

}  // namespace tern::io
