// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/multicast_run.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "coll/gpu/in_stream.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "core/datatype_device.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using enum Collective;
using cuda::MulticastArguments;

constexpr int64_t kStageVector = 16;  // bytes

std::optional<cuda::MultimemReduction> reduction_of(const Operation& operation) noexcept {
  const auto plan = core::device_reduction(*operation.op, *operation.input.type);
  return plan ? cuda::plan_multimem(plan->plan.kernel, plan->operation) : std::nullopt;
}

bool has_blocks(Collective what) noexcept { return what == kReduceScatter || what == kAllgather; }

}  // namespace

const Algorithm* MulticastRun::row_of(Collective collective) noexcept {
  static const auto kRows = [] {
    std::array<const Algorithm*, kCollectives> rows{};
    for (const Algorithm& row : algorithms())
      if ((row.traits & kBySwitch) != 0) rows.at(static_cast<size_t>(row.collective)) = &row;
    return rows;
  }();
  return kRows.at(static_cast<size_t>(collective));
}

const char* MulticastRun::why_not(const Operation& operation) noexcept {
  if (row_of(operation.collective) == nullptr) return "switches do not run this collective";
  if (operation.irregular) return "blocks differ";
  if (reduces(operation.collective) && !reduction_of(operation))
    return "switches do not reduce this type by this operation";
  return nullptr;
}

bool MulticastRun::is_exact(const Operation& operation) noexcept {
  if (!reduces(operation.collective)) return true;
  const auto reduction = reduction_of(operation);
  return reduction && cuda::is_exact(*reduction);
}

MulticastRun::MulticastRun(GpuTeam& team, const Placed& placed, const Operation& operation,
                           cuda::Job& job, uint64_t timeout) noexcept
    : team_(team),
      placed_(&placed),
      multicast_(*team.multicast()),
      operation_(operation),
      pieces_(operation, placed, Pieces::in_one_pass()),
      job_(job),
      arguments_(multicast_.arguments(team.memory, team.reports.kernels())) {
  arguments_.timeout = timeout * KernelRun::kGivesUpAfter;
  describe();
}

int64_t MulticastRun::most_room() const noexcept {
  return has_blocks(operation_.collective) ? multicast_.room() / team_.memory.ranks()
                                           : multicast_.room();
}

MPI_Count MulticastRun::passes() const noexcept {
  return (vectors() + most_room() - 1) / most_room();
}

MPI_Count MulticastRun::chunk() const noexcept {
  return std::min(bytes(), arguments_.room * kStageVector);
}

int MulticastRun::blocks() const noexcept {
  constexpr int64_t kEach = 256;  // vectors: one per thread
  const int64_t wanted = (arguments_.room + kEach - 1) / kEach;
  return static_cast<int>(std::clamp<int64_t>(wanted, 1, multicast_.blocks()));
}

Failure MulticastRun::run() {
  if (bytes() == 0) return {};
  InStream call(team_, job_);
  arguments_.call = team_.waits.note({placed_, 0, 0}, call.captured());
  const int64_t step = in_.packed || out_.packed ? arguments_.room : vectors();
  for (int64_t begin = 0; begin < vectors() && !job_.failed(); begin += step)
    launch(begin, std::min(begin + step, vectors()));
  return call.end(operation_.collective);
}

void MulticastRun::launch(int64_t begin, int64_t end) {
  if (in_.packed) move(in_, true, begin, end);
  if (job_.failed()) return;
  arguments_.begin = begin;
  arguments_.end = end;
  job_.mark();
  job_.note("cuLaunchKernel",
            team_.memory.device().kernels()->multicast(job_.stream(), arguments_, blocks()));
  if (out_.packed && !job_.failed()) move(out_, false, begin, end);
}

void MulticastRun::move(const KernelSide& side, bool in, int64_t begin, int64_t end) {
  const auto offset = static_cast<size_t>(begin * kStageVector);
  const size_t length =
      static_cast<size_t>(std::min<MPI_Count>(bytes(), end * kStageVector)) - offset;
  for (int32_t block = 0; block < side.blocks; ++block) {
    const core::Data data = pieces_.users(side.space, block, 0).data;
    std::byte* const stage = multicast_.stage(staged(side, block) * arguments_.room);
    if (in)
      core::pack(job_, data, offset, stage, length);
    else
      core::unpack(job_, data, offset, stage, length);
  }
}

int32_t MulticastRun::staged(const KernelSide& side, int32_t block) const noexcept {
  return has_blocks(operation_.collective) && side.blocks == 1 ? team_.memory.rank() : block;
}

void MulticastRun::describe() noexcept {
  MulticastArguments& a = arguments_;
  const bool is_root = operation_.communicator->rank() == operation_.root;
  const Collective what = operation_.collective;
  a.what = what == kAllreduce       ? MulticastArguments::kAllreduce
           : what == kReduceScatter ? MulticastArguments::kReduceScatter
           : what == kAllgather     ? MulticastArguments::kAllgather
                                    : MulticastArguments::kBcast;
  a.root = static_cast<int32_t>(operation_.root);
  if (bytes() == 0) return;
  const MPI_Count all = passes();
  a.room = (vectors() + all - 1) / all;
  a.bytes = bytes();
  if (what != kBcast || is_root)  // the input of a bcast is the root's output
    a.input = describe_side(&in_, what == kBcast ? Space::kOutput : Space::kInput, &a.input_stride);
  if (what != kBcast || !is_root) a.output = describe_side(&out_, Space::kOutput, &a.output_stride);
  if (reduces(what)) a.reduction = static_cast<int32_t>(*reduction_of(operation_));
}

char* MulticastRun::describe_side(KernelSide* side, Space space, int64_t* stride) noexcept {
  const Pieces::DataPiece first = pieces_.users(space, 0, 0);
  side->space = space;
  side->blocks = pieces_.blocks_of(space);
  side->packed = !KernelRun::is_plain(first.data, team_.memory.device());
  if (side->packed) return nullptr;
  if (side->blocks > 1) *stride = pieces_.users(space, 1, 0).first() - first.first();
  return reinterpret_cast<char*>(first.first());
}

}  // namespace tern::coll
