// SPDX-License-Identifier: Apache-2.0
// CallCheck: compares one collective call of a file between ranks, for TERN_CHECK=collective.
// Why: after different calls the next meetings would combine unrelated cards, and move wrong data.
// Cost: one meeting per call; two more after a difference, to name a rank of each side.
#pragma once

#include <string>

#include "core/current_call.hpp"
#include "io/meeting.hpp"
#include "io/view.hpp"

namespace tern::io {

/// The part of a collective call that must be equal on all ranks.
struct CheckedCall {
  core::CallPlace place;
  const View* view = nullptr;  // of transfers at the shared pointer
  // Of MPI_File_set_view.
  int64_t etype_extent = 0;
  const char* representation = nullptr;
};

class CallCheck {
 public:
  /// `mine` stays valid.
  CallCheck(const CheckedCall& mine, int rank, const char* file) noexcept
      : mine_(mine), rank_(rank), file_(file) {}
  [[nodiscard]] bool over() const noexcept { return step_ == Step::kOver; }
  /// This rank's card of the next meeting. `failed`: the rank has refused the call; then the
  /// meeting has the error, and the call ends on all ranks.
  [[nodiscard]] Card card(const Failure& failed) const noexcept;
  /// The result of the meeting.
  void take(const Card& all) noexcept;
  /// The calls of two ranks, equal on all ranks.
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }

 private:
  enum class Step : uint8_t { kCompare, kNameLow, kNameHigh, kOver };
  struct Words {
    char text[160];
  };
  [[nodiscard]] Words words() const noexcept;

  const CheckedCall& mine_;
  const int rank_;
  const char* const file_;
  Step step_ = Step::kCompare;
  int64_t low_ = 0, high_ = 0;  // digests of different calls
  Failure low_side_, failed_;
};

}  // namespace tern::io
