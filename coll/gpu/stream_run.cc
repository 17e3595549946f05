// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/stream_run.hpp"

#include <algorithm>
#include <array>
#include <new>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/gpu/in_stream.hpp"
#include "core/op.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

// The driver takes 255 operations per batch: two per wait, and a first and last for the report to
// the host.
constexpr size_t kMostInBatch = 2 * StreamRun::kMostWaits;

CUstreamBatchMemOpParams operation_on(CUdeviceptr word, CUstreamBatchMemOpType what, uint32_t value,
                                      unsigned flags) noexcept {
  CUstreamBatchMemOpParams made{};
  made.waitValue.operation = what;
  made.waitValue.address = word;
  made.waitValue.value = value;
  made.waitValue.flags = flags;
  return made;
}

}  // namespace

StreamRun::StreamRun(GpuTeam& team, const Placed& placed, const Operation& operation,
                     cuda::Job& job) noexcept
    : team_(team),
      placed_(placed),
      schedule_(placed.schedule),
      operation_(operation),
      pieces_(operation, placed, team.memory.layout(), least_passes(placed)),
      callers_(job),
      job_(&job) {}

MPI_Count StreamRun::least_passes(const Placed& placed) noexcept {
  constexpr MPI_Count kPiped = 16;
  return placed.row->chunk != 0 ? kPiped : 1;
}

// Every kernel but the first also reads the partial result.
int StreamRun::kernels_of(int sources) noexcept {
  const int behind = std::max(sources - cuda::kMostSources, 0);
  return 1 + (behind + cuda::kMostSources - 2) / (cuda::kMostSources - 1);
}

Failure StreamRun::run() {
  InStream call(team_, callers_);
  captured_ = call.captured();
  if (!callers_.failed()) run_passes();
  return call.end(operation_.collective);
}

// The caller's stream joins the other lane even after a failure.
void StreamRun::run_passes() {
  CUstream fork = nullptr;
  if (pieces_.passes() > 1 && !captured_ && !pieces_.in_order())
    fork = team_.calls.lanes.fork(callers_.stream());
  cuda::Stream second;
  second.handle = fork;
  if (fork != nullptr) second.stage = callers_.share_stage();
  cuda::Job other(team_.memory.device(), second);
  try {
    for (MPI_Count pass = 0; pass < pieces_.passes() && !callers_.failed() && !other.failed();
         ++pass) {
      job_ = fork != nullptr && pass % 2 == 1 ? &other : &callers_;
      run_pass(pass);
    }
    other.give_to(callers_);
  } catch (const std::bad_alloc&) {
    callers_.note("a list of waits", CUDA_ERROR_OUT_OF_MEMORY);
  }
  job_ = &callers_;
  if (fork == nullptr) return;
  callers_.note("cuStreamWaitEvent", team_.calls.lanes.join(callers_.stream()));
}

void StreamRun::run_pass(MPI_Count pass) {
  set_ = team_.calls.next_set();
  pass_ = pass;
  put_aside(pass);
  for (size_t i = 0; i < schedule_.steps.size(); ++i) issue(schedule_.steps[i], i, pass);
  flush_waits();
  bring_back(pass);
}

void StreamRun::put_aside(MPI_Count pass) {
  for (int32_t block = 0; block < pieces_.puts_aside(); ++block) {
    const Pieces::Aside aside = pieces_.put_aside(block, pass);
    core::pack(*job_, aside.users.data, aside.users.offset, local(aside.local), aside.users.bytes);
  }
}

void StreamRun::bring_back(MPI_Count pass) {
  if (!pieces_.is_aside(Space::kOutput)) return;
  const Pieces::Aside aside = pieces_.bring_back(pass);
  core::unpack(*job_, aside.users.data, aside.users.offset, local(aside.local), aside.users.bytes);
}

void StreamRun::issue(const Step& step, size_t index, MPI_Count pass) {
  if (step.verb == Verb::kWait) return wait(placed_.words[index], index);
  flush_waits();
  switch (step.verb) {
    case Verb::kSignal:
      return signal(placed_.words[index]);
    case Verb::kReduce:
      return reduce(step, pass);
    case Verb::kPut:
    case Verb::kCopy:
      for (int i = 0; i < step.destinations; ++i)
        move(schedule_.source(step), schedule_.destination(step, i), pass);
      return;
    case Verb::kJoin:
      return;
    default:
      TERN_ASSERT(false && "a lowered schedule between mapped ranks has no messages");
  }
}

bool StreamRun::is_users(const Slice& slice) const noexcept {
  return (slice.space == Space::kOutput || slice.space == Space::kInput) &&
         !pieces_.is_aside(slice.space);
}

std::byte* StreamRun::local(size_t offset) const noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  const size_t lane = static_cast<size_t>(set_) * layout.lane_local_bytes();
  return team_.memory.at(team_.memory.rank(), layout.local() + lane + offset);
}

std::byte* StreamRun::address(const Slice& slice, MPI_Count pass) const noexcept {
  if (is_users(slice)) return pieces_.piece(slice, pass).first();
  const ScratchLayout& layout = team_.memory.layout();
  if (slice.space != Space::kInbox) return local(pieces_.in_local(slice, pass));
  const auto index = static_cast<size_t>(&slice - schedule_.slices.data());
  const Placed::SlotPlace& place = placed_.places[index];
  return team_.memory.at(place.owner,
                         layout.inbox(place.from, set_) + pieces_.in_region(place.before));
}

void StreamRun::move(const Slice& from, const Slice& to, MPI_Count pass) {
  const bool packs = is_users(from), unpacks = is_users(to);
  const size_t bytes = packs ? pieces_.piece(from, pass).bytes : pieces_.bytes(to, pass);
  if (bytes == 0) return;
  if (packs && unpacks) {
    const Pieces::DataPiece source = pieces_.piece(from, pass), target = pieces_.piece(to, pass);
    if (target.data.type->contiguous())
      return core::pack(*job_, source.data, source.offset, target.first(), bytes);
    std::byte* packed = source.first();
    if (!source.data.type->contiguous()) {
      packed = local(pieces_.between_layouts());
      core::pack(*job_, source.data, source.offset, packed, bytes);
    }
    core::unpack(*job_, target.data, target.offset, packed, bytes);
  } else if (packs) {
    const Pieces::DataPiece source = pieces_.piece(from, pass);
    core::pack(*job_, source.data, source.offset, address(to, pass), bytes);
  } else if (unpacks) {
    const Pieces::DataPiece target = pieces_.piece(to, pass);
    core::unpack(*job_, target.data, target.offset, address(from, pass), bytes);
  } else {
    job_->copy_mapped(address(to, pass), address(from, pass), bytes);
  }
}

// With too many sources for one kernel, the last sources are reduced first, to keep operand order.
void StreamRun::reduce(const Step& step, MPI_Count pass) {
  const size_t bytes = pieces_.bytes(schedule_.source(step), pass);
  if (bytes == 0) return;
  const core::Datatype& type = *operation_.input.type;
  const auto plan = core::device_reduction(*operation_.op, type);
  const auto elements =
      static_cast<int64_t>(bytes / static_cast<size_t>(type.size())) * plan->elements;
  std::byte* const target = address(schedule_.destination(step), pass);
  std::array<const void*, cuda::kMostSources> sources;
  bool begun = false;
  for (int left = step.sources; left > 0 && !job_->failed();) {
    const int some = std::min(left, cuda::kMostSources - (begun ? 1 : 0));
    for (int i = 0; i < some; ++i)
      sources[static_cast<size_t>(i)] = address(schedule_.source(step, left - some + i), pass);
    if (begun) sources[static_cast<size_t>(some)] = target;
    job_->mark();
    job_->note("cuLaunchKernel", team_.memory.device().kernels()->reduce(
                                     job_->stream(), plan->operation, plan->plan, sources.data(),
                                     some + (begun ? 1 : 0), target, elements));
    begun = true;
    left -= some;
  }
}

size_t StreamRun::offset_of(const Placed::Word& word) const noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  return word.message == Placed::kCredit ? layout.credit(word.other, set_)
                                         : layout.data(word.other, set_, word.message);
}

void StreamRun::signal(const Placed::Word& word) {
  job_->copy_mapped(team_.memory.at(word.owner, offset_of(word)),
                    team_.memory.at(team_.memory.rank(), ScratchLayout::one()),
                    ScratchLayout::kWord);
}

// The first operation of a batch reports the wait's number, the last reports 0.
void StreamRun::wait(const Placed::Word& word, size_t step) {
  if (batch_.size() >= kMostInBatch) flush_waits();
  if (batch_.empty())
    batch_.push_back(operation_on(team_.reports.wait_word(set_), CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                  team_.waits.note({&placed_, step, pass_}, captured_), 0));
  const CUdeviceptr at = device_pointer(team_.memory.at(word.owner, offset_of(word)));
  batch_.push_back(operation_on(at, CU_STREAM_MEM_OP_WAIT_VALUE_32, 1, CU_STREAM_WAIT_VALUE_EQ));
  batch_.push_back(operation_on(at, CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, 0));
}

void StreamRun::flush_waits() {
  if (batch_.empty() || job_->failed()) return;
  batch_.push_back(
      operation_on(team_.reports.wait_word(set_), CU_STREAM_MEM_OP_WRITE_VALUE_32, 0, 0));
  job_->mark();
  job_->note("cuStreamBatchMemOp",
             team_.memory.device().driver.cuStreamBatchMemOp_v2(
                 job_->stream(), static_cast<unsigned>(batch_.size()), batch_.data(), 0));
  batch_.clear();
}

}  // namespace tern::coll
