// SPDX-License-Identifier: Apache-2.0
// KernelRun: an operation put into a stream as one kernel, which runs the program of its lowered
// schedule.
// Why: what is small takes one launch instead of a driver call for each step. The kernel spins on
// multiprocessors while it waits for other ranks', so it has few blocks of threads, all resident.
// Form: passes are shared out among the blocks of threads (parts): each has its part of the
// scratch, words of its own, and talks to the same part of other ranks. Data that kernels cannot
// read as it is (host memory, types with holes) is packed before and unpacked behind a launch,
// which then takes one pass of each part; other ranks do not notice. Lifetime: of one call.
// Threads: the caller holds the team's mutex, and no channel's lock. See:
// cuda/kernels/interpret.cuh, coll/gpu/README.md; tests/unit/coll/kernel_run_test.cc.
#pragma once

#include <algorithm>

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class KernelRun {
 public:
  /// The host says whom a kernel waits for after TERN_GPU_TIMEOUT, as it does of streams; a rank
  /// may be late. After so many times that the kernel gives up, for it takes what others need.
  static constexpr uint64_t kGivesUpAfter = 10;
  /// `patience`: of the host, in ns; 0: for ever.
  KernelRun(GpuTeam& team, const Placed& placed, Programs::Stored& program,
            const Operation& operation, cuda::Job& job, uint64_t patience) noexcept;
  /// Why kernels do not run it, alike on all ranks; null: they do.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Placed& placed,
                                           const Operation& operation) noexcept;
  /// As of StreamRun.
  [[nodiscard]] Failure run();
  [[nodiscard]] MPI_Count passes() const noexcept { return pieces_.passes(); }
  /// Bytes of a vector or block in a pass; of threads.
  [[nodiscard]] MPI_Count chunk() const noexcept { return pieces_.length() * pieces_.element(); }
  [[nodiscard]] int blocks() const noexcept {
    return static_cast<int>(std::min<MPI_Count>(team_.kernels.parts(), passes()));
  }
  /// Kernels read and write it as it is.
  [[nodiscard]] static bool is_plain(const core::Data& data, const cuda::Device& device) noexcept {
    cuda::Memory unknown;
    return is_plain(data, device, &unknown);
  }
  /// `known`: of the data before, which may lie in the same allocation; of this one then.
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
  bool packed_[2] = {};  // by Operand::Space: kernels do not read or write it as it is
};

}  // namespace tern::coll
