// SPDX-License-Identifier: Apache-2.0
// RangeLock: conflicting transfers of a file in atomic mode take turns (MPI-5.0 section 14.6.1).
// A rank writes its range on its board; with several hosts, rank 0 keeps all ranges. The range of a
// dead rank is free.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "io/meeting.hpp"
#include "io/service.hpp"

namespace tern::io {

/// The ranges that rank 0 keeps for all hosts.
class Ranges {
 public:
  [[nodiscard]] bool take(int rank, int64_t from, int64_t to, bool writes);
  void release(int rank) noexcept;

 private:
  struct Held {
    int rank;
    int64_t from, to;
    bool writes;
  };
  std::vector<Held> held_;
};

class RangeLock {
 public:
  RangeLock(const Meeting& meeting, Service& service) noexcept
      : meeting_(meeting), service_(service) {}
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;
  ~RangeLock() { release(); }

  enum class Thread : uint8_t { kCaller, kWorker };
  /// Waits until no other rank transfers bytes [from, to), except reads beside a read.
  [[nodiscard]] Failure take(int64_t from, int64_t to, bool writes,
                             Thread in = Thread::kCaller) noexcept;
  void release() noexcept;

 private:
  [[nodiscard]] bool try_to_take(int64_t from, int64_t to, bool writes) noexcept;

  const Meeting& meeting_;
  Service& service_;
  bool held_ = false;
  int holder_ = -1;  // the rank that has a conflicting range
};

}  // namespace tern::io
