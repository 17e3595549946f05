// SPDX-License-Identifier: Apache-2.0
// KernelRun: an operation as a single kernel that interprets the program of a lowered schedule.
// Why: a launch is cheaper than a driver call per step. The kernel spins on SMs while waiting for
// other ranks, so all its thread blocks must be resident.
// Form: thread blocks (parts) share out the passes; each has a share of scratch and semaphores and
// talks to the same part of other ranks. Data that kernels cannot access directly (host memory,
// types with holes) is packed before and unpacked after a launch of a pass per part; peers do not
// notice.
// Threads: the caller holds the team's mutex, and no channel lock.
// See: cuda/kernels/interpret.cuh, coll/gpu/README.md; tests/unit/coll/kernel_run_test.cc.
#pragma once

#include <algorithm>

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class KernelRun {
 public:
  /// The kernel's timeout in multiples of TERN_GPU_TIMEOUT. Kernels give up because they occupy
  /// SMs; the host only logs awaited ranks.
  static constexpr uint64_t kGivesUpAfter = 10;
  /// `timeout`: in ns; 0: no timeout.
  KernelRun(GpuTeam& team, const Placed& placed, Programs::Stored& program,
            const Operation& operation, cuda::Job& job, uint64_t timeout) noexcept;
  /// Returns the reason against this engine, or null; the same on all ranks.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Placed& placed,
                                           const Operation& operation) noexcept;
  [[nodiscard]] Failure run();
  [[nodiscard]] MPI_Count passes() const noexcept { return pieces_.passes(); }
  [[nodiscard]] MPI_Count chunk() const noexcept { return pieces_.length() * pieces_.element(); }
  [[nodiscard]] int blocks() const noexcept {
    return static_cast<int>(std::min<MPI_Count>(team_.kernels.parts(), passes()));
  }
  [[nodiscard]] static bool is_plain(const core::Data& data, const cuda::Device& device) noexcept {
    cuda::Memory unknown;
    return is_plain(data, device, &unknown);
  }
  /// `known` caches the latest allocation.
  [[nodiscard]] static bool is_plain(const core::Data& data, const cuda::Device& device,
                                     cuda::Memory* known) noexcept;

 private:
  using Side = cuda::InterpretArguments::Side;
  void put();
  void describe_layout() noexcept;
  void describe_data() noexcept;
  void describe_side(Space space) noexcept;
  void describe_input_aside() noexcept;
  void describe_table() noexcept;
  void describe_reduction() noexcept;
  void launch(MPI_Count first, MPI_Count end);
  void pack_side(Space space, MPI_Count pass, bool in);
  [[nodiscard]] int64_t in_local(Space space) const noexcept;

  GpuTeam& team_;
  const Placed& placed_;
  const Schedule& schedule_;
  Programs::Stored& program_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& job_;
  cuda::InterpretArguments arguments_{};
  bool captured_ = false;
  bool packed_[2] = {};
};

}  // namespace tern::coll
