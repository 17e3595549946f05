// SPDX-License-Identifier: Apache-2.0
// PushRun: a small operation put into a stream as one kernel in which each rank pushes to others
// what is theirs and makes its result of what comes (one hop, or two of an allreduce), by words of
// LL or by lines of LL128.
// Why: rows of one hop need no program and no credits that way. Which rows: those whose steps are
// that hop; the kernel does what their schedule says, and a test compares.
// Form: data that kernels cannot use as it is (host memory, types with holes) is packed before and
// unpacked behind, in the rank's local memory; other ranks do not notice.
// Lifetime: of one call. Threads: the caller holds the team's mutex, and no channel's lock.
// See: cuda/kernels/push.cuh; tests/unit/coll/kernel_run_test.cc.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class PushRun {
 public:
  /// `patience`: as of KernelRun.
  PushRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
          uint64_t patience, Wire wire) noexcept;
  /// Why a row is not run so, alike on all ranks; null: it is.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Placed& placed,
                                           const Operation& operation) noexcept;
  /// Bytes of the largest block.
  [[nodiscard]] static size_t largest(const Placed& placed, const Operation& operation) noexcept;
  /// As of StreamRun.
  [[nodiscard]] Failure run();
  /// Of threads, alike on all ranks.
  [[nodiscard]] int blocks() const noexcept;
  /// Bytes of a vector or block that one pass moves.
  [[nodiscard]] MPI_Count chunk() const noexcept;
  [[nodiscard]] MPI_Count passes() const noexcept;

 private:
  /// The caller's data of one, or what stands for it in the local memory.
  struct Side {
    Space space = Space::kInput;
    int32_t blocks = 0;   // 0: this rank has no such side
    bool packed = false;  // kernels do not use it as it is
  };
  [[nodiscard]] size_t bytes() const noexcept {
    return static_cast<size_t>(pieces_.total() * pieces_.element());
  }
  [[nodiscard]] size_t block_bytes() const noexcept;
  [[nodiscard]] size_t room() const noexcept;
  [[nodiscard]] bool keeps_own() const noexcept;
  void describe() noexcept;
  void describe_data() noexcept;
  void describe_lengths() noexcept;
  [[nodiscard]] char* describe_side(Side* side, Space space, int64_t* stride) noexcept;
  void move(const Side& side, int32_t block, bool in);
  [[nodiscard]] std::byte* local(int32_t block) const noexcept;

  GpuTeam& team_;
  const Placed& placed_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& job_;
  const Wire wire_;
  cuda::PushArguments arguments_{};
  Side in_, out_;
};

}  // namespace tern::coll
