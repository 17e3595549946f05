// SPDX-License-Identifier: Apache-2.0
// MulticastRun: a large operation as one kernel over multicast memory; the switch reduces and
// replicates.
// Algorithms: those with the trait kBySwitch. The switch orders the operands, and all ranks
// get the same bits, because each sum is loaded once.
// Form: data that kernels cannot access directly (host memory, types with holes) is packed into the
// stage before, and unpacked after, a launch of a single pass; peers do not notice.
// Threads: the caller holds the team's mutex, and no channel lock.
// See: cuda/kernels/multicast.cuh; tests/gpu/mpi/stream_multicast.cc.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class MulticastRun {
 public:
  MulticastRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
               uint64_t timeout) noexcept;
  /// Returns the reason against this engine, the same on all ranks, or null. Assumes multicast
  /// memory.
  [[nodiscard]] static const char* why_not(const Operation& operation) noexcept;
  /// Null: switches do not run the collective.
  [[nodiscard]] static const Algorithm* row_of(Collective collective) noexcept;
  /// Whether the result equals the host's bits for any order of operands.
  [[nodiscard]] static bool is_exact(const Operation& operation) noexcept;
  [[nodiscard]] Failure run();
  [[nodiscard]] int blocks() const noexcept;
  [[nodiscard]] MPI_Count chunk() const noexcept;
  [[nodiscard]] MPI_Count passes() const noexcept;

 private:
  struct KernelSide {
    Space space = Space::kInput;
    int32_t blocks = 0;
    bool packed = false;
  };
  [[nodiscard]] MPI_Count bytes() const noexcept { return pieces_.total() * pieces_.element(); }
  [[nodiscard]] int64_t vectors() const noexcept { return (bytes() + 15) / 16; }
  [[nodiscard]] int64_t most_room() const noexcept;
  void describe() noexcept;
  [[nodiscard]] char* describe_side(KernelSide* side, Space space, int64_t* stride) noexcept;
  void launch(int64_t begin, int64_t end);
  void move(const KernelSide& side, bool in, int64_t begin, int64_t end);
  [[nodiscard]] int32_t staged(const KernelSide& side, int32_t block) const noexcept;

  GpuTeam& team_;
  const Placed* const placed_;
  const Multicast& multicast_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& job_;
  cuda::MulticastArguments arguments_;
  KernelSide in_, out_;
};

}  // namespace tern::coll
