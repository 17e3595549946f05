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
constexpr uint64_t kRefresh = (uint64_t{1} << 24) - 1;

MPI_Count vectors_of(size_t bytes) noexcept {
  return static_cast<MPI_Count>(std::max<size_t>((bytes + kVector - 1) / kVector, 1));
}
size_t room_of(size_t bytes) noexcept { return (bytes + kVector - 1) / kVector * kVector; }

/// Hop: a rank's sends and receives in the only hop, or in the first of two.
struct Hop {
  int32_t to = cuda::PushArguments::kAllRanks, from = cuda::PushArguments::kAllRanks;
  int32_t last = 0;
  bool spreads = false;
};

/// Without data, all barrier algorithms are the same kernel.
bool serves(const Placed& placed, Collective what) noexcept {
  constexpr int kMostOfBarrier = 16;  // ranks; modelled: above, other algorithms send less
  if (what == kBarrier) return placed.schedule.ranks <= kMostOfBarrier;
  return placed.has(kOneHop) || placed.has(kTwoHops);
}

bool scans(Collective what) noexcept { return what == kScan || what == kExscan; }

Hop hop_of(const Placed& placed, const Operation& operation) noexcept {
  using cuda::PushArguments;
  Hop hop;
  hop.spreads = placed.has(kTwoHops);
  hop.last = operation.communicator->size() - 1;
  if (scans(operation.collective)) {
    const int32_t rank = operation.communicator->rank();
    hop.last = operation.collective == kScan ? rank : rank - 1;
    hop.to = PushArguments::kAbove;
    hop.from = hop.last < 0 ? PushArguments::kNoRank : PushArguments::kBelow;
  }
  if (!rooted(operation.collective)) return hop;
  const auto root = static_cast<int32_t>(operation.root);
  const bool is_root = operation.communicator->rank() == operation.root;
  if (operation.collective == kBcast || operation.collective == kScatter) {
    hop.to = is_root ? PushArguments::kAllRanks : PushArguments::kNoRank;
    hop.from = is_root ? PushArguments::kNoRank : root;
  } else {
    hop.to = is_root ? PushArguments::kNoRank : root;
    hop.from = is_root ? PushArguments::kAllRanks : PushArguments::kNoRank;
  }
  return hop;
}

/// The rank with the most blocks counts, so that all ranks decide alike.
size_t most_blocks(const Schedule& schedule, Collective what) noexcept {
  const auto ranks = static_cast<size_t>(schedule.ranks);
  if (splits(what)) return 2;
  return what == kAlltoall ? 2 * ranks : 1 + ranks;
}

}  // namespace

// In a reduce_scatter with different blocks, a rank without a block need not say "in place", and no
// other rank knows.
bool PushRun::has_all_blocks(const Operation& operation) noexcept {
  return !operation.irregular ||
         (operation.collective == kAllgather && operation.output.counts != nullptr);
}

size_t PushRun::largest(const Placed& placed, const Operation& operation) noexcept {
  const Pieces pieces(operation, placed, Pieces::in_one_pass());
  return static_cast<size_t>(pieces.total() * pieces.element());
}

const char* PushRun::why_not(const GpuTeam& team, const Placed& placed, const Operation& operation,
                             Wire wire) noexcept {
  if (team.kernels.parts() == 0) return team.kernels.why_none();
  if (!serves(placed, operation.collective)) return "the algorithm takes several hops";
  if (operation.collective == kBarrier) return nullptr;
  if (!has_all_blocks(operation)) return "blocks differ";
  if (facts_of(wire).flags)  // a chunk fits the scratch
    return team.memory.layout().has(wire) ? nullptr
                                          : "the scratch is small; a larger TERN_GPU_SCRATCH helps";
  const size_t block = room_of(largest(placed, operation));
  if (block * most_blocks(placed.schedule, operation.collective) >
      team.memory.layout().local_bytes())
    return "the scratch does not hold the data; a larger TERN_GPU_SCRATCH helps";
  return nullptr;
}

PushRun::PushRun(GpuTeam& team, const Placed& placed, const Operation& operation, cuda::Job& job,
                 uint64_t timeout, Wire wire) noexcept
    : team_(team),
      placed_(placed),
      operation_(operation),
      pieces_(operation, placed, Pieces::in_one_pass()),
      job_(job),
      wire_(wire) {
  arguments_.timeout = timeout * KernelRun::kGivesUpAfter;
}

// In two hops, a block is an owner's part of the vector, in 16-byte vectors.
size_t PushRun::block_bytes() const noexcept {
  if (!placed_.has(kTwoHops)) return bytes();
  return (room_of(bytes()) / kVector + owners() - 1) / owners() * kVector;
}

// A bcast's root owns no part.
size_t PushRun::owners() const noexcept {
  const int32_t without = operation_.collective == kBcast ? 1 : 0;
  return static_cast<size_t>(std::max(team_.memory.ranks() - without, 1));
}

int PushRun::blocks() const noexcept {
  const PushFacts& wire = facts_of(wire_);
  const auto each = static_cast<MPI_Count>(wire.flags ? std::min(2 * kThreads, room()) : kThreads);
  const MPI_Count wanted = (vectors_of(block_bytes()) + each - 1) / each;
  return static_cast<int>(
      std::min<MPI_Count>(wanted, team_.kernels.parts(team_.memory.layout().push_parts(wire_))));
}

size_t PushRun::room() const noexcept { return team_.memory.layout().push_room(wire_); }

// A chunk of large data also fits the local memory, in case some rank packs.
MPI_Count PushRun::chunk() const noexcept {
  auto most = static_cast<MPI_Count>(room() * kVector) * blocks();
  if (placed_.has(kTwoHops)) most *= static_cast<MPI_Count>(owners());
  const size_t local =
      team_.memory.layout().local_bytes() / most_blocks(placed_.schedule, operation_.collective);
  if (facts_of(wire_).flags)
    most = std::min(most, static_cast<MPI_Count>(local / kVector * kVector));
  return std::min(most, static_cast<MPI_Count>(bytes()));
}

MPI_Count PushRun::passes() const noexcept {
  return chunk() == 0 ? 1 : (static_cast<MPI_Count>(bytes()) + chunk() - 1) / chunk();
}

Failure PushRun::run() {
  if (bytes() == 0 && operation_.collective != kBarrier) return {};
  InStream call(team_, job_);
  describe();
  if (operation_.collective != kBarrier) describe_data();
  arguments_.call = team_.waits.note({&placed_, 0, 0}, call.captured());
  const size_t all = bytes();
  arguments_.chunks = 1;
  if (!in_.packed && !out_.packed) {
    if (all > 0) arguments_.chunks = (arguments_.bytes - 1) / arguments_.chunk + 1;
    launch();
  } else {
    for (size_t before = 0; before < all && !job_.failed();
         before += static_cast<size_t>(arguments_.chunk))
      launch_chunk(before);
  }
  return call.end(operation_.collective);
}

void PushRun::launch() {
  if (job_.failed()) return;
  job_.mark();
  cuda::Kernels& kernels = *team_.memory.device().kernels();
  job_.note("cuLaunchKernel", kernels.push(job_.stream(), wire_, arguments_, blocks()));
}

void PushRun::launch_chunk(size_t before) {
  for (int32_t block = 0; in_.packed && block < in_.blocks; ++block) move(in_, block, before, true);
  cuda::PushArguments& a = arguments_;
  const auto step = static_cast<int64_t>(before > 0 ? a.chunk : 0);
  if (!in_.packed && a.input != nullptr) a.input += step;
  if (!out_.packed && a.output != nullptr) a.output += step;
  a.bytes -= step;
  if (a.tabled != 0) describe_lengths(before);
  launch();
  for (int32_t block = 0; out_.packed && block < out_.blocks && !job_.failed(); ++block)
    move(out_, block, before, false);
}

size_t PushRun::length_of(int32_t block, size_t before) const noexcept {
  const auto length = arguments_.tabled == 0
                          ? bytes()
                          : static_cast<size_t>(pieces_.block_units(block) * pieces_.element());
  return length - std::min(length, before);
}

void PushRun::move(const KernelSide& side, int32_t block, size_t before, bool in) {
  const core::Data data = pieces_.users(side.space, block, 0).data;
  const int32_t which = side.blocks == 1 ? team_.memory.rank() : block;
  const size_t length = std::min(length_of(which, before), static_cast<size_t>(arguments_.chunk));
  if (length == 0) return;
  std::byte* const here = local(&side == &in_ ? block : in_.blocks + block);
  if (in)
    core::pack(job_, data, before, here, length);
  else
    core::unpack(job_, data, before, here, length);
}

std::byte* PushRun::local(int32_t block) const noexcept {
  return team_.memory.at(team_.memory.rank(),
                         team_.memory.layout().local() +
                             static_cast<size_t>(block) * static_cast<size_t>(arguments_.chunk));
}

void PushRun::describe() noexcept {
  const ScratchLayout& layout = team_.memory.layout();
  const auto at = [](size_t offset) { return static_cast<int64_t>(offset); };
  const Hop hop = hop_of(placed_, operation_);
  cuda::PushArguments& a = arguments_;
  team_.memory.write_bases(a.bases);
  a.reports = team_.reports.kernels();
  a.words = at(layout.push_words(wire_));
  a.flags = at(layout.push_flags(wire_));
  a.counters = at(layout.push_counters(wire_));
  a.abort_word = at(ScratchLayout::abort());
  a.room = at(room());
  a.refresh = kRefresh;
  a.ranks = team_.memory.ranks();
  a.rank = team_.memory.rank();
  a.parts = team_.memory.layout().push_parts(wire_);
  a.to = hop.to;
  a.from = hop.from;
  a.last = hop.last;
  a.spread = hop.spreads ? 1 : 0;
  a.what = cuda::PushArguments::kBarrier;
  // Packets cut their data into passes of `room`.
  a.chunk = static_cast<int64_t>(
      std::max(room_of(static_cast<size_t>(facts_of(wire_).flags ? chunk() : bytes())), kVector));
}

/// Input or output is null if the rank sends or receives nothing.
void PushRun::describe_data() noexcept {
  cuda::PushArguments& a = arguments_;
  a.bytes = static_cast<int64_t>(bytes());
  a.what = cuda::PushArguments::kCopy;
  if (operation_.irregular) describe_lengths(0);
  const bool swaps = operation_.collective == kBcast;  // a bcast's input is the root's output
  if (a.to != cuda::PushArguments::kNoRank || (!swaps && keeps_own()))
    a.input = describe_side(&in_, swaps ? Space::kOutput : Space::kInput, &a.input_stride);
  if (a.from != cuda::PushArguments::kNoRank || (!swaps && keeps_own()))
    a.output = describe_side(&out_, Space::kOutput, &a.output_stride);
  if (!reduces(operation_.collective)) return;
  const auto plan = core::device_reduction(*operation_.op, *operation_.input.type);
  a.what = cuda::PushArguments::kReduce;
  a.kernel = static_cast<int32_t>(plan->plan.kernel);
  a.operation = static_cast<int32_t>(plan->operation);
}

void PushRun::describe_lengths(size_t before) noexcept {
  const bool gathers = operation_.collective == kAllgather;
  arguments_.tabled = gathers ? cuda::PushArguments::kOutput : cuda::PushArguments::kInput;
  for (int32_t block = 0; block < team_.memory.ranks(); ++block)
    arguments_.table[block].length = static_cast<int64_t>(length_of(block, before));
}

bool PushRun::keeps_own() const noexcept {
  if (operation_.collective == kExscan) return false;
  return !rooted(operation_.collective) || operation_.communicator->rank() == operation_.root;
}

char* PushRun::describe_side(KernelSide* side, Space space, int64_t* stride) noexcept {
  const Pieces::DataPiece first = pieces_.users(space, 0, 0);
  side->space = space;
  side->blocks = pieces_.blocks_of(space);
  side->packed = !KernelRun::is_plain(first.data, team_.memory.device());
  const bool many = side->blocks > 1;
  for (int32_t block = 0; arguments_.tabled != 0 && many && block < side->blocks; ++block)
    arguments_.table[block].offset = side->packed
                                         ? block * arguments_.chunk
                                         : pieces_.users(space, block, 0).first() - first.first();
  if (side->packed) {
    if (many) *stride = arguments_.chunk;
    return reinterpret_cast<char*>(local(side == &in_ ? 0 : in_.blocks));
  }
  if (many) *stride = pieces_.users(space, 1, 0).first() - first.first();
  return reinterpret_cast<char*>(first.first());
}

}  // namespace tern::coll
