// SPDX-License-Identifier: Apache-2.0
// Lanes: the second stream of a team: every other pass of an operation goes there, from where the
// caller's stream stood at its beginning to where it stands at its end.
// Why: what a rank does in one pass, a copy by an engine or a kernel, is done beside what it does
// in the next. Passes use two sets of regions and words in turn, a lane has one of them.
// Not captured: the branches of a graph may be done one behind the other, in an order of the
// driver's, which need not be that of another rank.
// Lifetime: of the team; made where memory is, never in a call.
// Threads: the caller holds the team's mutex, and the context is current.
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

  /// The second stream, behind what is in the caller's; null where the driver gave none.
  [[nodiscard]] CUstream fork(CUstream callers) noexcept;
  /// The caller's goes on behind what was put into the second.
  [[nodiscard]] CUresult join(CUstream callers) noexcept;

 private:
  cuda::Device& device_;
  cuda::Stream* stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace tern::coll
