// SPDX-License-Identifier: Apache-2.0
// ExchangeRun: blocks whose sizes only sender and receiver know (coll/engine/pairs.hpp), put into a
// stream as one kernel, in which each pair of ranks moves its chunks as the two agree.
// Why: no row of the table does it, for its passes are alike on all ranks. All take this way,
// whatever their own blocks are: a rank does not know those of the others.
// Form: data that kernels cannot use as it is (host memory, types with holes) is packed before and
// unpacked behind a launch, which then takes one step; other ranks do not notice.
// Lifetime: of one call. Threads: the caller holds the team's mutex, and no channel's lock.
// See: cuda/kernels/exchange.cuh; tests/gpu/mpi/stream_exchange.cc.
#pragma once

#include <vector>

#include "base/params.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/pairs.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class ExchangeRun {
 public:
  /// Why kernels do not do it, alike on all ranks; null: they do.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Params& params,
                                           const Operation& operation) noexcept;
  /// `number`: of the team's exchanges; `patience`: as of KernelRun. Throws as pairs_of().
  ExchangeRun(GpuTeam& team, const Operation& operation, cuda::Job& job, uint64_t patience,
              uint32_t number);
  /// As of StreamRun.
  [[nodiscard]] Failure run();
  /// Of threads: as many as this rank's largest block wants.
  [[nodiscard]] int blocks() const noexcept { return blocks_; }
  /// Bytes of its largest block that a step moves; steps.
  [[nodiscard]] MPI_Count chunk() const noexcept { return chunk_; }
  [[nodiscard]] MPI_Count passes() const noexcept { return steps_; }

 private:
  struct Block : PairBlock {
    explicit Block(const PairBlock& block) noexcept : PairBlock(block) {}
    bool packed = false;  // kernels do not use it as it is
    MPI_Count first = 0;  // step
    MPI_Count each = 0;   // bytes that a step moves of it
    [[nodiscard]] MPI_Count bytes() const noexcept { return static_cast<MPI_Count>(data.bytes()); }
    [[nodiscard]] MPI_Count steps() const noexcept { return (bytes() + each - 1) / each; }
    [[nodiscard]] MPI_Count end() const noexcept { return first + steps(); }
  };
  using Blocks = std::vector<Block>;
  [[nodiscard]] Blocks cut(const std::vector<PairBlock>& all);
  void describe() noexcept;
  [[nodiscard]] MPI_Count choose(MPI_Count begin) noexcept;
  void launch(MPI_Count begin, MPI_Count end);
  void move(const Block& block, bool in, MPI_Count step);
  [[nodiscard]] std::byte* local(const Block& block, bool in) const noexcept;

  GpuTeam& team_;
  const Operation& operation_;
  cuda::Job& job_;
  Blocks sent_, received_;
  MPI_Count steps_ = 0, chunk_ = 0;
  int blocks_ = 1;
  bool captured_ = false, packs_ = false;
  cuda::ExchangeArguments arguments_{};
};

}  // namespace tern::coll
