// SPDX-License-Identifier: Apache-2.0
// RangeLock: conflicting transfers of a file in atomic mode take turns (MPI-5.0 section 14.6.1).
// A rank writes ranges on the rank's board; with several hosts, rank 0 keeps all ranges. The ranges
// of a dead rank are free.
// Threads: under the channel's lock. Nothing blocks: callers poll, in a wait or in progress.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "io/meeting.hpp"
#include "io/service.hpp"

namespace tern::io {

struct FileRange {
  int64_t from = 0, to = 0;
  bool writes = false;
};

/// All ranges of a file on several hosts, at rank 0.
class Ranges {
 public:
  [[nodiscard]] bool take(int rank, const FileRange& range);
  void release(int rank, const FileRange& range) noexcept;
  void release_all(int rank) noexcept;

 private:
  struct Held {
    int rank;
    FileRange range;
  };
  std::vector<Held> held_;
};

class RangeLock {
 public:
  RangeLock(const Meeting& meeting, Service& service) noexcept
      : meeting_(meeting), service_(service) {}
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;

  /// Returns true once no other rank transfers bytes of the range, except reads beside a read; or
  /// after an error.
  [[nodiscard]] bool take(const FileRange& range) noexcept;
  /// Returns true once the range is free.
  [[nodiscard]] bool release() noexcept;
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }
  void describe(WaitReport* report) const;

 private:
  [[nodiscard]] bool take_here(const FileRange& range) noexcept;
  [[nodiscard]] bool asked(Question::Asks what) noexcept;

  const Meeting& meeting_;
  Service& service_;
  FileRange range_;
  RangeEntry* entry_ = nullptr;
  bool held_ = false;
  int holder_ = -1;  // the rank with a conflicting range
  std::optional<Service::Asking> asking_;
  Failure failed_;
};

}  // namespace tern::io
