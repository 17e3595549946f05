// SPDX-License-Identifier: Apache-2.0
// RangeLock: conflicting transfers of a file in atomic mode take turns (MPI-5.0 section 14.6.1).
// Each rank's range is on its board; rank 0's board has the word that guards the ranges. The word
// and the ranges of a dead rank count as free.
#pragma once

#include "base/error.hpp"
#include "io/meeting.hpp"

namespace tern::io {

class RangeLock {
 public:
  explicit RangeLock(const Meeting& meeting) noexcept : meeting_(meeting) {}
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;
  ~RangeLock() { release(); }

  /// Waits until no other rank transfers bytes [from, to), except reads beside a read.
  [[nodiscard]] Failure take(int64_t from, int64_t to, bool writes) noexcept;
  void release() noexcept;

 private:
  [[nodiscard]] bool try_to_take(int64_t from, int64_t to, bool writes) noexcept;
  [[nodiscard]] bool lock_word() noexcept;

  const Meeting& meeting_;
  bool held_ = false;
  int holder_ = -1;  // the rank that has a conflicting range
};

}  // namespace tern::io
