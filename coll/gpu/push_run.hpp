// SPDX-License-Identifier: Apache-2.0
// PushRun: an operation as a single kernel. Each rank pushes LL or LL128 packets, or plain data, to
// peers and builds the result from arriving data, in a single hop, or two for an allreduce or
// bcast. Large data that must be packed takes a kernel per chunk.
#pragma once

#include "coll/engine/operation.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class PushRun {
 public:
  PushRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
          uint64_t timeout, Wire wire) noexcept;
  /// Returns the reason against this engine, or null; the same on all ranks.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Placed& placed,
                                           const Operation& operation, Wire wire) noexcept;
  /// Whether blocks are alike, or all ranks know all lengths.
  [[nodiscard]] static bool has_all_blocks(const Operation& operation) noexcept;
  [[nodiscard]] static size_t largest(const Placed& placed, const Operation& operation) noexcept;
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
  [[nodiscard]] size_t bytes() const noexcept {
    return static_cast<size_t>(pieces_.total() * pieces_.element());
  }
  [[nodiscard]] size_t block_bytes() const noexcept;
  [[nodiscard]] size_t owners() const noexcept;
  [[nodiscard]] size_t room() const noexcept;
  [[nodiscard]] bool keeps_own() const noexcept;
  void describe() noexcept;
  void describe_data() noexcept;
  void describe_lengths(size_t before) noexcept;
  [[nodiscard]] char* describe_side(KernelSide* side, Space space, int64_t* stride) noexcept;
  void launch_chunk(size_t before);
  void launch();
  void move(const KernelSide& side, int32_t block, size_t before, bool in);
  [[nodiscard]] size_t length_of(int32_t block, size_t before) const noexcept;
  [[nodiscard]] std::byte* local(int32_t block) const noexcept;

  GpuTeam& team_;
  const Placed& placed_;
  const Operation& operation_;
  const Pieces pieces_;
  cuda::Job& job_;
  const Wire wire_;
  cuda::PushArguments arguments_{};
  KernelSide in_, out_;
};

}  // namespace tern::coll
