// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/exchange_run.hpp"

#include <algorithm>
#include <utility>

#include "coll/gpu/in_stream.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr MPI_Count kLeastPart = 2048;  // bytes; smaller blocks use fewer thread blocks

}  // namespace

const char* ExchangeRun::why_not(const GpuTeam& team, const Params& params,
                                 const Operation& operation) noexcept {
  if (operation.communicator->inter()) return "the communicator is an inter-communicator";
  if (params.gpu_engine == GpuEngine::kHost) return "TERN_GPU_ENGINE is host";
  if (params.gpu_engine == GpuEngine::kStream)
    return "TERN_GPU_ENGINE is stream, and only kernels move blocks of pairwise known sizes";
  if (team.kernels.parts() == 0) return team.kernels.why_none();
  return nullptr;
}

ExchangeRun::ExchangeRun(GpuTeam& team, const Operation& operation, cuda::Job& job,
                         uint64_t timeout, uint32_t number)
    : team_(team), operation_(operation), job_(job) {
  arguments_.timeout = timeout * KernelRun::kGivesUpAfter;
  arguments_.number = number;
  const Pairs pairs = pairs_of(operation);
  sent_ = cut(pairs.sent);
  received_ = cut(pairs.received);
}

Failure ExchangeRun::run() {
  if (steps_ == 0) return {};
  InStream call(team_, job_);
  captured_ = call.captured();
  describe();
  for (MPI_Count step = 0, end = 0; step < steps_ && !job_.failed(); step = end) {
    end = choose(step);
    for (const ExchangeBlock& one : sent_) move(one, true, step);
    if (!job_.failed()) launch(step, end);
    for (const ExchangeBlock& one : received_) move(one, false, step);
  }
  return call.end(operation_.collective);
}

ExchangeRun::Blocks ExchangeRun::cut(const std::vector<PairBlock>& all) {
  Blocks blocks;
  blocks.reserve(all.size());
  MPI_Count next[cuda::kMostRanks] = {};  // next free step of each peer
  const ScratchLayout& layout = team_.memory.layout();
  const MPI_Count parts = team_.kernels.parts();
  const auto most = static_cast<MPI_Count>(layout.kernel_part(layout.kernel_region()));
  cuda::Memory known;
  for (const PairBlock& block : all) {
    ExchangeBlock& one = blocks.emplace_back(block);
    one.packed = !KernelRun::is_plain(one.data, team_.memory.device(), &known);
    packs_ |= one.packed;
    const MPI_Count part = cuda::exchange_part(one.bytes(), parts, kLeastPart, most);
    one.each = part * parts;
    one.first = std::exchange(next[one.peer], next[one.peer] + one.steps());
    steps_ = std::max(steps_, one.end());
    chunk_ = std::max(chunk_, std::min(one.each, one.bytes()));
    blocks_ = std::max(blocks_, static_cast<int>(std::min(parts, (one.bytes() + part - 1) / part)));
  }
  return blocks;
}

void ExchangeRun::describe() noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  const auto at = [](size_t offset) { return static_cast<int64_t>(offset); };
  cuda::ExchangeArguments& a = arguments_;
  team_.memory.write_bases(a.bases);
  a.reports = team_.reports.kernels();
  a.pairs = layout.pair_regions();
  a.abort_word = at(ScratchLayout::abort());
  a.least = kLeastPart;
  a.ranks = team_.memory.ranks();
  a.rank = team_.memory.rank();
  a.parts = team_.kernels.parts();
  a.set = static_cast<int32_t>(a.number & 1);
}

// The range of steps shrinks until all blocks fit kMostBlocks.
MPI_Count ExchangeRun::choose(MPI_Count begin) noexcept {
  cuda::ExchangeArguments& a = arguments_;
  const auto count = [&](const Blocks& blocks, MPI_Count end) {
    return std::count_if(blocks.begin(), blocks.end(), [&](const ExchangeBlock& one) {
      return one.first < end && one.end() > begin;
    });
  };
  MPI_Count end = packs_ ? begin + 1 : steps_;
  while (count(sent_, end) + count(received_, end) > cuda::ExchangeArguments::kMostBlocks)
    end = begin + (end - begin + 1) / 2;
  const auto put = [&](const Blocks& blocks, int32_t before, bool in) {
    int32_t next = before;
    for (const ExchangeBlock& one : blocks)
      if (one.first < end && one.end() > begin)
        a.blocks[next++] = {reinterpret_cast<char*>(one.packed ? local(one, in) : one.data.first()),
                            one.bytes(), static_cast<int32_t>(one.first),
                            static_cast<int16_t>(one.peer), static_cast<int16_t>(one.packed)};
    return next - before;
  };
  a.sent = put(sent_, 0, true);
  a.received = put(received_, a.sent, false);
  return end;
}

void ExchangeRun::launch(MPI_Count begin, MPI_Count end) {
  arguments_.begin = begin;
  arguments_.end = end;
  arguments_.call =
      team_.waits.note({&team_.schedules.exchange(operation_.collective), 0, begin}, captured_);
  job_.mark();
  job_.note("cuLaunchKernel",
            team_.memory.device().kernels()->exchange(job_.stream(), arguments_, blocks_));
}

void ExchangeRun::move(const ExchangeBlock& block, bool in, MPI_Count step) {
  if (!block.packed || step < block.first || step >= block.end() || job_.failed()) return;
  const MPI_Count offset = (step - block.first) * block.each;
  const auto bytes = static_cast<size_t>(std::min(block.each, block.bytes() - offset));
  if (in)
    core::pack(job_, block.data, static_cast<size_t>(offset), local(block, in), bytes);
  else
    core::unpack(job_, block.data, static_cast<size_t>(offset), local(block, in), bytes);
}

/// Each peer has a place per direction, because a step has at most one block there.
std::byte* ExchangeRun::local(const ExchangeBlock& block, bool in) const noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  const auto place = static_cast<size_t>(in ? block.peer : team_.memory.ranks() + block.peer);
  return team_.memory.at(team_.memory.rank(), layout.local() + place * layout.kernel_region());
}

}  // namespace tern::coll
