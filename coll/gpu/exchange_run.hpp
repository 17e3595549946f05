// SPDX-License-Identifier: Apache-2.0
// ExchangeRun: blocks of sizes known only to sender and receiver (coll/engine/pairs.hpp), moved by
// a kernel. Each pair of ranks agrees on its number of chunks.
// Why: algorithms of the table run the same passes on all ranks. A rank does not know other ranks'
// blocks, so all ranks use this engine for such collectives.
// Form: data that kernels cannot access directly (host memory, types with holes) is packed before
// and unpacked after a launch of a single step; peers do not notice.
// Threads: the caller holds the team's mutex, and no channel lock.
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
  /// Returns the reason against this engine, or null; the same on all ranks.
  [[nodiscard]] static const char* why_not(const GpuTeam& team, const Params& params,
                                           const Operation& operation) noexcept;
  /// `number` counts the team's exchanges. Throws like pairs_of().
  ExchangeRun(GpuTeam& team, const Operation& operation, cuda::Job& job, uint64_t timeout,
              uint32_t number);
  [[nodiscard]] Failure run();
  [[nodiscard]] int blocks() const noexcept { return blocks_; }
  [[nodiscard]] MPI_Count chunk() const noexcept { return chunk_; }
  [[nodiscard]] MPI_Count passes() const noexcept { return steps_; }

 private:
  struct ExchangeBlock : PairBlock {
    explicit ExchangeBlock(const PairBlock& block) noexcept : PairBlock(block) {}
    bool packed = false;
    MPI_Count first = 0;
    MPI_Count each = 0;  // bytes per step
    [[nodiscard]] MPI_Count bytes() const noexcept { return static_cast<MPI_Count>(data.bytes()); }
    [[nodiscard]] MPI_Count steps() const noexcept { return (bytes() + each - 1) / each; }
    [[nodiscard]] MPI_Count end() const noexcept { return first + steps(); }
  };
  using Blocks = std::vector<ExchangeBlock>;
  [[nodiscard]] Blocks cut(const std::vector<PairBlock>& all);
  void describe() noexcept;
  [[nodiscard]] MPI_Count choose(MPI_Count begin) noexcept;
  void launch(MPI_Count begin, MPI_Count end);
  void move(const ExchangeBlock& block, bool in, MPI_Count step);
  [[nodiscard]] std::byte* local(const ExchangeBlock& block, bool in) const noexcept;

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
