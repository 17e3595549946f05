// SPDX-License-Identifier: Apache-2.0
// Lanes: the second stream of a team: every other pass of an operation goes there, from where the
// caller's stream stood at its beginning to where it stands at its end.
// Why: what a rank does in one pass, a copy by an engine or a kernel, is done beside what it does
// in the next. Passes use two sets of regions and words in turn, a lane has one of them. Captured:
// a stream that joined a capture belongs to it until that ends, so graphs have a lane of their own;
// while another capture has it, passes follow each other in one stream. Lifetime: of the team; made
// where memory is, never in a call. Threads: the caller holds the team's mutex, and the context is
// current.
#pragma once

#include "cuda/device.hpp"

namespace tern::coll {

class Lanes {
 public:
  explicit Lanes(cuda::Device& device) noexcept : device_(device) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Without a second stream where the driver gives none.
  void prepare() noexcept;
  /// Gives back what it has.
  void end() noexcept;

  /// A stream behind what is in the caller's. Null where the driver gave no second one, or where
  /// another capture has it.
  [[nodiscard]] CUstream fork(CUstream callers, bool captured) noexcept;
  /// The caller's goes on behind what was put into the other.
  [[nodiscard]] CUresult join(CUstream callers, CUstream lane) noexcept;

 private:
  struct Lane {
    cuda::Stream* stream = nullptr;
    CUevent begin = nullptr, end = nullptr;
  };
  void prepare(Lane* lane) noexcept;
  [[nodiscard]] bool is_free_for(CUstream callers) const noexcept;

  cuda::Device& device_;
  Lane eager_, captured_;
};

}  // namespace tern::coll
