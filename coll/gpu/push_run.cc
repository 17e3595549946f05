// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/push_run.hpp"

#include <algorithm>
#include <cstring>

#include "coll/gpu/in_stream.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "core/datatype_device.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using enum Collective;

constexpr size_t kVector = 16, kThreads = 256;
constexpr uint64_t kRefresh = (uint64_t{1} << 24) - 1;  // PushArguments::refresh

/// One pass, of anything.
constexpr Pieces::Room kAll = {
    size_t{1} << 48, size_t{1} << 48, ScratchLayout::kKernelGrain, 1, 1, true};

MPI_Count vectors_of(size_t bytes) noexcept {
  return static_cast<MPI_Count>(std::max<size_t>((bytes + kVector - 1) / kVector, 1));
}
size_t room_of(size_t bytes) noexcept { return (bytes + kVector - 1) / kVector * kVector; }

/// A barrier has no data by which one row could be told from another.
bool is_one_hop(const Placed& placed, const Operation& operation) noexcept {
  constexpr int kMostOfBarrier = 16;  // ranks; a model's number: above, rounds are fewer
  const char* const row = placed.schedule.algorithm;
  if (operation.collective == kBarrier) return placed.schedule.ranks <= kMostOfBarrier;
  if (operation.collective == kAllgather) return std::strcmp(row, "linear") == 0;
  return operation.collective == kAllreduce && std::strcmp(row, "one_shot") == 0;
}

}  // namespace

const char* PushRun::why_not(const GpuTeam& team, const Placed& placed,
                             const Operation& operation) noexcept {
  if (team.parts() == 0) return "a rank has no kernels";
  if (!is_one_hop(placed, operation)) return "its algorithm takes several hops";
  if (operation.collective == kBarrier) return nullptr;
  if (operation.irregular) return "blocks differ";
  const Pieces pieces(operation, placed, kAll);
  const size_t block = room_of(static_cast<size_t>(pieces.total() * pieces.element()));
  const auto blocks = static_cast<size_t>(operation.collective == kAllgather ? team.ranks() : 1);
  if (block * (blocks + 1) > team.layout().local_bytes())
    return "the scratch does not hold its data; a larger TERN_GPU_SCRATCH helps";
  return nullptr;
}

PushRun::PushRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
                 uint64_t patience) noexcept
    : team_(team),
      placed_(placed),
      operation_(operation),
      pieces_(operation, placed, kAll),
      job_(job) {
  arguments_.patience = patience * KernelRun::kGivesUpAfter;
}

int PushRun::blocks() const noexcept {
  const MPI_Count wanted = (vectors_of(bytes()) + static_cast<MPI_Count>(kThreads) - 1) /
                           static_cast<MPI_Count>(kThreads);
  return static_cast<int>(std::min<MPI_Count>(wanted, team_.parts()));
}

MPI_Count PushRun::chunk() const noexcept {
  const auto room = static_cast<MPI_Count>(team_.layout().ll_room() * kVector) * blocks();
  return std::min(room, static_cast<MPI_Count>(bytes()));
}

MPI_Count PushRun::passes() const noexcept {
  return chunk() == 0 ? 1 : (static_cast<MPI_Count>(bytes()) + chunk() - 1) / chunk();
}

int PushRun::run() {
  if (bytes() == 0 && operation_.collective != kBarrier) return MPI_SUCCESS;
  InStream call(team_, job_);
  describe();
  if (operation_.collective != kBarrier) describe_data();
  if (packs_) core::pack(job_, input().data, 0, local(0), bytes());
  if (!job_.failed()) {
    arguments_.call = team_.note({&placed_, 0, 0}, call.captured());
    job_.mark();
    job_.note("cuLaunchKernel",
              team_.device().kernels()->push(job_.stream(), arguments_, blocks()));
  }
  for (int32_t block = 0; unpacks_ && block < outputs() && !job_.failed(); ++block)
    core::unpack(job_, output(block).data, 0, local(1 + block), bytes());
  return call.end(operation_.collective);
}

Pieces::Piece PushRun::input() const noexcept {
  const bool gathers = operation_.collective == kAllgather;
  const int32_t rank = team_.rank();
  return pieces_.piece(
      {Space::kInput, gathers ? rank : 0, gathers ? 1 : placed_.schedule.parts, gathers ? rank : 0},
      0);
}

Pieces::Piece PushRun::output(int32_t block) const noexcept {
  const bool gathers = operation_.collective == kAllgather;
  return pieces_.piece({Space::kOutput, block, gathers ? 1 : placed_.schedule.parts, block}, 0);
}

int32_t PushRun::outputs() const noexcept {
  return operation_.collective == kAllgather ? team_.ranks() : 1;
}

/// The input's, then the outputs'.
std::byte* PushRun::local(int32_t block) const noexcept {
  return team_.at(team_.rank(),
                  team_.layout().local() + static_cast<size_t>(block) * room_of(bytes()));
}

void PushRun::describe() noexcept {
  const ScratchLayout& layout = team_.layout();
  const auto at = [](size_t offset) { return static_cast<int64_t>(offset); };
  cuda::PushArguments& a = arguments_;
  for (int rank = 0; rank < team_.ranks(); ++rank)
    a.bases[rank] = reinterpret_cast<const char*>(team_.at(rank, 0));
  a.reports = team_.reports();
  a.words = at(layout.ll_words());
  a.counters = at(layout.ll_counters());
  a.abort_word = at(ScratchLayout::abort());
  a.room = at(layout.ll_room());
  a.refresh = kRefresh;
  a.ranks = team_.ranks();
  a.rank = team_.rank();
  a.parts = ScratchLayout::kParts;
  a.what = cuda::PushArguments::kBarrier;
}

void PushRun::describe_data() noexcept {
  cuda::PushArguments& a = arguments_;
  const Pieces::Piece in = input(), out = output(0);
  packs_ = !KernelRun::is_plain(in);
  unpacks_ = !KernelRun::is_plain(out);
  a.bytes = static_cast<int64_t>(bytes());
  a.input = reinterpret_cast<const char*>(packs_ ? local(0) : in.first());
  a.output = reinterpret_cast<char*>(unpacks_ ? local(1) : out.first());
  if (operation_.collective == kAllgather) {
    a.what = cuda::PushArguments::kGather;
    if (unpacks_)
      a.stride = static_cast<int64_t>(room_of(bytes()));
    else if (team_.ranks() > 1)
      a.stride = output(1).first() - out.first();
    return;
  }
  const auto plan = core::device_reduction(*operation_.op, *operation_.input.type);
  a.what = cuda::PushArguments::kReduce;
  a.kernel = static_cast<int32_t>(plan->plan.kernel);
  a.operation = static_cast<int32_t>(plan->operation);
}

}  // namespace tern::coll
