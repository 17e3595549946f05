// SPDX-License-Identifier: Apache-2.0
// RangeLock: conflicting transfers of a file in atomic mode take turns (MPI-5.0 section 14.6.1).
// On one host, a rank's board has the rank's range; on several hosts rank 0 keeps all ranges.
// A rank has one range at a time. The range of a dead rank counts as free.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "io/meeting.hpp"
#include "io/service.hpp"

namespace tern::io {

/// The ranges of all hosts, kept by rank 0.
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

  /// Waits until no transfer moves bytes [from, to), except reads beside a read.
  [[nodiscard]] Failure take(int64_t from, int64_t to, bool writes) noexcept;
  /// begin() and taken() replace take() for a polling caller. taken() is also true after an
  /// error. Requires the channel's lock.
  void begin(int64_t from, int64_t to, bool writes) noexcept;
  [[nodiscard]] bool taken() noexcept;
  [[nodiscard]] const Failure& failed() const noexcept { return inquiry_.failed; }
  void release() noexcept;
  /// Requires the channel's lock.
  void release_locked() noexcept;
  void describe(WaitReport* report) const;

 private:
  [[nodiscard]] bool take_here() noexcept;
  [[nodiscard]] RangeEntry& mine() const noexcept {
    return meeting_.board(meeting_.communicator().rank())->range;
  }

  const Meeting& meeting_;
  Service& service_;
  Service::Inquiry inquiry_;
  // kWaits: behind another transfer of this rank.
  enum class State : uint8_t { kFree, kWaits, kAsks, kHeld } state_ = State::kFree;
  int holder_ = -1;  // the rank with a conflicting range
};

}  // namespace tern::io
