// SPDX-License-Identifier: Apache-2.0
// MulticastRun: a large operation put into a stream as one kernel that goes through multicast
// memory, where the switch reduces and replicates. Which rows: those whose result does not depend
// on a way through ranks; the order of operands is the switch's, alike for all ranks, as one of
// them asks for all. Form: data that kernels cannot use as it is (host memory, types with holes) is
// packed into the stage before a launch, which then takes one pass, and unpacked from there behind
// it; other ranks do not notice. Lifetime: of one call. Threads: the caller holds the team's mutex,
// and no channel's lock. See: cuda/kernels/multicast.cuh; tests/gpu/mpi/stream_multicast.cc.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class MulticastRun {
 public:
  /// `patience`: as of KernelRun.
  MulticastRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
               uint64_t patience) noexcept;
  /// Why an operation does not go so, whatever the row, where the team has such memory; alike on
  /// all ranks; null: it does.
  [[nodiscard]] static const char* why_not(const Operation& operation) noexcept;
  /// The row that switches can do; null: none.
  [[nodiscard]] static const Algorithm* row_of(Collective collective) noexcept;
  /// Whether the bits are the host's, whatever the order of operands.
  [[nodiscard]] static bool is_exact(const Operation& operation) noexcept;
  /// As of StreamRun.
  [[nodiscard]] Failure run();
  /// Of threads, alike on all ranks.
  [[nodiscard]] int blocks() const noexcept;
  /// Bytes of a vector or block that one pass moves.
  [[nodiscard]] MPI_Count chunk() const noexcept;
  [[nodiscard]] MPI_Count passes() const noexcept;

 private:
  /// The caller's data of one; blocks of this rank, 0: it has no such side.
  struct Side {
    Space space = Space::kInput;
    int32_t blocks = 0;
    bool packed = false;  // kernels do not use it as it is
  };
  [[nodiscard]] MPI_Count bytes() const noexcept { return pieces_.total() * pieces_.element(); }
  [[nodiscard]] int64_t vectors() const noexcept { return (bytes() + 15) / 16; }
  [[nodiscard]] int64_t most_room() const noexcept;
  void describe() noexcept;
  [[nodiscard]] char* describe_side(Side* side, Space space, int64_t* stride) noexcept;
  void launch(int64_t begin, int64_t end);
  void move(const Side& side, bool in, int64_t begin, int64_t end);
  [[nodiscard]] int32_t staged(const Side& side, int32_t block) const noexcept;

  GpuTeam& team_;
  const Placed* const placed_;
  const Multicast& multicast_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& job_;
  cuda::MulticastArguments arguments_;
  Side in_, out_;
};

}  // namespace tern::coll
