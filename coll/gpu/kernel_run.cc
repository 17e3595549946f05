// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/kernel_run.hpp"

#include <algorithm>

#include "coll/gpu/in_stream.hpp"
#include "core/datatype_device.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using enum Collective;

constexpr MPI_Count kLeastPass = 2048;  // bytes; smaller passes use fewer parts

char* chars(std::byte* address) noexcept { return reinterpret_cast<char*>(address); }

Pieces::Room room_of(const GpuTeam& team) noexcept {
  const ScratchLayout& layout = team.memory.layout();
  return {layout.kernel_part(layout.kernel_region()),
          layout.kernel_part(layout.local_bytes()),
          ScratchLayout::kKernelGrain,
          team.kernels.parts(),
          kLeastPass,
          true};
}

}  // namespace

bool KernelRun::is_plain(const core::Data& data, const cuda::Device& device,
                         cuda::Memory* known) noexcept {
  if (!data.type->contiguous()) return false;
  const std::byte* const first = data.first();
  if (reinterpret_cast<uintptr_t>(first) - known->base >= known->bytes)
    *known = cuda::look_up(first);  // look_up() is a driver call
  return known->kind == cuda::MemoryKind::kManaged ||
         (known->kind == cuda::MemoryKind::kDevice && known->device == device.ordinal);
}

const char* KernelRun::why_not(const GpuTeam& team, const Placed& placed,
                               const Operation& operation) noexcept {
  if (team.kernels.parts() == 0) return team.kernels.why_none();
  if (placed.most_messages > ScratchLayout::kKernelMessages)
    return "ranks send each other more messages than kernels have semaphores for";
  const Pieces pieces(operation, placed, room_of(team));
  if (!pieces.fit())
    return "the scratch is too small for the blocks; a larger TERN_GPU_SCRATCH helps";
  if (pieces.in_order()) return "in place, a pass overwrites input of other thread blocks";
  return nullptr;
}

KernelRun::KernelRun(GpuTeam& team, const Placed& placed, Programs::Stored& program,
                     const Operation& operation, cuda::Job& job, uint64_t timeout) noexcept
    : team_(team),
      placed_(placed),
      schedule_(placed.schedule),
      program_(program),
      operation_(operation),
      pieces_(operation, placed, room_of(team)),
      job_(job) {
  arguments_.timeout = timeout * kGivesUpAfter;
}

Failure KernelRun::run() {
  if (passes() == 0) return {};
  InStream call(team_, job_);
  captured_ = call.captured();
  Programs::bring(program_, job_, captured_);
  describe_layout();
  describe_data();
  put();
  return call.end(operation_.collective);
}

// With packed data a launch covers one pass of each thread block.
void KernelRun::put() {
  const MPI_Count parts = team_.kernels.parts();
  const MPI_Count step = packed_[0] || packed_[1] ? parts : (passes() + parts - 1) / parts * parts;
  for (MPI_Count first = 0; first < passes() && !job_.failed(); first += step) {
    const MPI_Count end = std::min(first + step, passes());
    const auto pack = [&](bool in) {
      for (MPI_Count pass = first; pass < end; ++pass)
        for (const Space space : {Space::kInput, Space::kOutput}) pack_side(space, pass, in);
    };
    pack(true);
    launch(first, end);
    pack(false);
  }
}

void KernelRun::launch(MPI_Count first, MPI_Count end) {
  const MPI_Count parts = team_.kernels.parts();
  arguments_.set = team_.programs.next_set((end - first + parts - 1) / parts);
  arguments_.call = team_.waits.note({&placed_, 0, first}, captured_);
  arguments_.first_pass = first;
  arguments_.end_pass = end;
  job_.mark();
  job_.note("cuLaunchKernel",
            team_.memory.device().kernels()->interpret(
                job_.stream(), arguments_, static_cast<int>(std::min(parts, end - first))));
}

void KernelRun::describe_layout() noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  const auto at = [](size_t offset) { return static_cast<int64_t>(offset); };
  cuda::InterpretArguments& a = arguments_;
  a.program = reinterpret_cast<const char*>(program_.at);
  a.instructions = program_.instructions;
  a.operands_at = program_.operands_at;
  a.reports = team_.reports.kernels();
  a.ranks = team_.memory.ranks();
  a.rank = team_.memory.rank();
  a.local = at(layout.local());
  a.local_each = at(layout.kernel_part(layout.local_bytes()));
  a.pairs = layout.pair_regions();
  a.abort_word = at(ScratchLayout::abort());
}

void KernelRun::describe_data() noexcept {
  cuda::InterpretArguments& a = arguments_;
  a.parts = schedule_.parts;
  a.vector = splits(operation_.collective) ? 1 : 0;
  a.element = static_cast<int32_t>(pieces_.element());
  a.total = pieces_.total();
  a.length = pieces_.length();
  a.unit = static_cast<int64_t>(pieces_.unit());
  a.front = pieces_.aside(Space::kInput) + pieces_.aside(Space::kOutput);
  if (operation_.collective == kBarrier) return;
  describe_table();
  describe_side(Space::kInput);
  describe_side(Space::kOutput);
  describe_input_aside();
  if (reduces(operation_.collective)) describe_reduction();
}

int64_t KernelRun::in_local(Space space) const noexcept {
  const int32_t blocks = space == Space::kInput ? 0 : pieces_.aside(Space::kInput);
  return blocks * static_cast<int64_t>(pieces_.unit());
}

void KernelRun::describe_side(Space space) noexcept {
  const auto index = static_cast<size_t>(space == Space::kInput ? 0 : 1);
  if (!program_.uses[index]) return;
  Side& side = arguments_.sides[index];
  const Pieces::DataPiece first = pieces_.users(space, 0, 0);
  packed_[index] = !is_plain(first.data, team_.memory.device());
  const bool overwritten = space == Space::kInput && pieces_.puts_aside() > 0;
  if (packed_[index] || overwritten) {
    side.local = 1;
    side.offset = in_local(space);
    side.stride = pieces_.is_alone(space) ? 0 : arguments_.unit * schedule_.parts;
    return;
  }
  side.base = chars(first.first());
  if (pieces_.blocks_of(space) == 1) return;
  side.stride = chars(pieces_.users(space, 1, 0).first()) - side.base;
  side.in_table = arguments_.tabled;
}

// The kernel itself saves input if kernels can read the data.
void KernelRun::describe_input_aside() noexcept {
  if (!program_.uses[0] || packed_[0] || pieces_.puts_aside() == 0) return;
  Side& from = arguments_.source;
  arguments_.source_blocks = pieces_.puts_aside();
  from.base = chars(pieces_.users(Space::kInput, 0, 0).first());
  if (arguments_.source_blocks == 1) return;
  from.stride = chars(pieces_.users(Space::kInput, 1, 0).first()) - from.base;
  from.in_table = arguments_.tabled;
}

void KernelRun::describe_table() noexcept {
  const bool gathers = operation_.collective == kAllgather;
  const coll::Side& all = gathers ? operation_.output : operation_.input;
  if ((!gathers && operation_.collective != kReduceScatter) || all.counts == nullptr) return;
  arguments_.tabled = 1;
  const Space space = gathers ? Space::kOutput : Space::kInput;
  const std::byte* const base = pieces_.users(space, 0, 0).first();
  for (int32_t block = 0; block < schedule_.ranks; ++block)
    arguments_.table[block] = {pieces_.users(space, block, 0).first() - base,
                               pieces_.block_units(block)};
}

void KernelRun::describe_reduction() noexcept {
  const core::Datatype& type = *operation_.input.type;
  const auto plan = core::device_reduction(*operation_.op, type);
  arguments_.kernel = static_cast<int32_t>(plan->plan.kernel);
  arguments_.operation = static_cast<int32_t>(plan->operation);
  arguments_.reduce_element =
      static_cast<int32_t>(type.size() / (plan->elements * plan->plan.factor));
}

// Output is packed, too: the schedule may send output, and bytes that the kernel leaves alone must
// survive unpacking.
void KernelRun::pack_side(Space space, MPI_Count pass, bool in) {
  const auto index = static_cast<size_t>(space == Space::kInput ? 0 : 1);
  if (!packed_[index] || (space == Space::kInput && !in)) return;
  const ScratchLayout& layout = team_.memory.layout();
  const auto part = static_cast<size_t>(pass % team_.kernels.parts());
  const size_t area = layout.local() + part * layout.kernel_part(layout.local_bytes()) +
                      static_cast<size_t>(in_local(space));
  for (int32_t block = 0; block < pieces_.blocks_of(space); ++block) {
    const Pieces::DataPiece users = pieces_.users(space, block, pass);
    std::byte* const local = team_.memory.at(
        team_.memory.rank(), area + static_cast<size_t>(block * schedule_.parts) * pieces_.unit());
    if (users.bytes == 0) continue;
    if (in)
      core::pack(job_, users.data, users.offset, local, users.bytes);
    else
      core::unpack(job_, users.data, users.offset, local, users.bytes);
  }
}

}  // namespace tern::coll
