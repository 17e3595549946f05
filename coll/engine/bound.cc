// SPDX-License-Identifier: Apache-2.0
// Bound: maps the caller's buffers to the areas of a schedule's slices.
#include "coll/engine/bound.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "coll/engine/pairs.hpp"

namespace tern::coll {
namespace {

constexpr size_t kKeptMemory = size_t{1} << 20;
constexpr size_t kMostScratch = size_t{8} << 20;  // of more than Schedule::kAtOnce passes

MPI_Count passes_at_once(const Schedule& schedule, size_t scratch) noexcept {
  if (schedule.at_once <= Schedule::kAtOnce || scratch == 0) return schedule.at_once;
  return std::clamp<MPI_Count>(static_cast<MPI_Count>(kMostScratch / scratch), Schedule::kAtOnce,
                               schedule.at_once);
}

MPI_Count total(const Area& area, int32_t blocks) noexcept {
  if (area.counts == nullptr) return area.block * blocks;
  MPI_Count sum = 0;
  for (int32_t i = 0; i < blocks; ++i) sum += area.counts[i];
  return sum;
}

Area block_of(Area area, int32_t block) noexcept {
  if (area.types != nullptr) {
    area.base += area.displs[block];
    area.block = area.counts[block];
    area.type = area.types[block];
    area.scale = 1;
    area.counts = nullptr;
    area.types = nullptr;
    return area;
  }
  if (area.counts == nullptr) {
    area.base += area.block * block * area.extent;
    return area;
  }
  area.base += area.displs[block] * area.extent;
  area.block = area.counts[block];
  area.counts = nullptr;
  area.displs = nullptr;
  return area;
}

const void* first_data(const Side& side, int32_t blocks) noexcept {
  if (side.type == nullptr || side.types != nullptr) return nullptr;
  const auto* const base = static_cast<const std::byte*>(side.address) + side.type->true_lb();
  if (side.counts == nullptr) return side.count == 0 ? nullptr : base;
  for (int32_t i = 0; i < blocks; ++i)
    if (side.counts[i] != 0)
      return side.displs == nullptr ? base : base + side.displs[i] * side.type->extent();
  return nullptr;
}

pml::Buffer buffer_of(const Area& area) noexcept {
  return {area.base, area.block * area.scale, area.type, area.kind};
}

}  // namespace

void Bound::bind(const Operation& operation, size_t chunk, CachedSchedule& cached,
                 std::shared_ptr<CachedSchedule> own) {
  own_ = std::move(own);
  schedule_ = &cached.schedule;
  kept_.keep(operation, schedule_->whole_blocks(Space::kInput),
             schedule_->whole_blocks(Space::kOutput));
  chunk_ = !splits(schedule_->collective) && goes_by_pairs(operation) ? 0 : chunk;
  Areas areas = find_areas();
  geometry_.bind(*schedule_, areas.input, areas.output, areas.like, chunk_);
  scratch_bytes_ = round_up(geometry_.scratch().bytes(*schedule_));
  at_once_ =
      static_cast<size_t>(std::min(geometry_.passes(), passes_at_once(*schedule_, scratch_bytes_)));
  place(areas, find_memory(copied_input_.bytes + copied_output_.bytes + at_once_ * scratch_bytes_ +
                           kLine));
  cached_ = &cached;
  cached.running.fetch_add(1, std::memory_order_relaxed);
}

void Bound::release() noexcept {
  if (cached_ != nullptr) cached_->running.fetch_sub(1, std::memory_order_relaxed);
  cached_ = nullptr;
  own_.reset();
  device_memory_ = {};
}

Area Bound::area_of(const Side& side) const noexcept {
  Area area;
  area.base = static_cast<std::byte*>(side.address);
  area.type = side.type;
  area.block = side.count;
  area.counts = side.counts;
  area.displs = side.displs;
  area.types = side.types;
  if (side.type == nullptr) {
    area.type = byte_;
    return area;
  }
  if (side.displs == nullptr) area.kind = cuda::kind_of(area.base + side.type->true_lb());
  area.extent = side.type->extent();
  if (reduces(schedule_->collective) || !side.type->contiguous()) return area;
  area.base += side.type->true_lb();
  area.type = byte_;
  area.scale = side.type->size();
  if (!splits(schedule_->collective)) return area;
  area.block *= area.scale;  // ranks' types may differ
  area.extent = area.scale = 1;
  return area;
}

Area Bound::area_like() {
  const Collective what = schedule_->collective;
  const bool root = schedule_->rank == schedule_->root;
  const bool input =
      (what == Collective::kGather && !root) || (what == Collective::kScatter && root);
  const Side& side = input ? operation().input : operation().output;
  Area like;
  like.type = byte_;
  if (side.type == nullptr) return like;
  like.block = side.count * side.type->size();
  if (what != Collective::kAllgather || side.counts == nullptr) return like;
  like_counts_.assign(side.counts, side.counts + schedule_->ranks);
  for (MPI_Count& count : like_counts_) count *= side.type->size();
  like.counts = like_counts_.data();
  return like;
}

Bound::Areas Bound::find_areas() {
  Areas areas{area_of(operation().input), area_of(operation().output), {}};
  areas.like = reduces(schedule_->collective) ? areas.input : area_like();
  if (copied_input_.used) copied_input_.reset();
  if (copied_output_.used) copied_output_.reset();
  const Area users_output = areas.output;
  const Collective what = schedule_->collective;
  const bool in_place = operation().in_place;
  if (TERN_UNLIKELY(cuts(areas.like))) pack_sides(areas);
  if (in_place && what == Collective::kAlltoall)
    pack_blocks(operation().output, users_output, copied_input_);
  if (copied_input_.used) areas.input = copied_input_.copy;
  if (copied_output_.used) areas.output = copied_output_.copy;
  if (in_place && what == Collective::kReduceScatter) put_vector_aside(areas.input);
  if (what == Collective::kBcast) pack_bcast(areas.output);
  alias(areas);
  return areas;
}

bool Bound::cuts(const Area& like) const noexcept {
  if (splits(schedule_->collective) || reduces(schedule_->collective)) return false;
  return schedule_->parts > 1 || Geometry::passes_of(*schedule_, like, chunk_) > 1;
}

void Bound::place(Areas& areas, std::byte* memory) {
  scratch_ = memory + copied_input_.bytes + copied_output_.bytes;
  geometry_.set_scratch_kind(scratch_kind_);
  if (TERN_LIKELY(!copied_input_.used && !copied_output_.used)) return;
  const auto place = [&](CopiedSide& side, Area& replaced, std::byte* at) {
    if (!side.used) return;
    replaced.base = side.copy.base = at + side.origin;
    replaced.kind = side.copy.kind = scratch_kind_;
  };
  place(copied_input_, areas.input, memory);
  place(copied_output_, areas.output, memory + copied_input_.bytes);
  alias(areas);
  geometry_.bind(*schedule_, areas.input, areas.output, areas.like, chunk_);
}

// Scratch lies on the device if the rank has device data.
std::byte* Bound::find_memory(size_t bytes) {
  scratch_kind_ = cuda::MemoryKind::kHost;
  for (const Space space : {Space::kOutput, Space::kInput}) {
    const bool in = space == Space::kInput;
    const void* const address =
        first_data(in ? operation().input : operation().output, schedule_->whole_blocks(space));
    if (TERN_LIKELY(!cuda::on_device(cuda::kind_of(address)))) continue;
    Failure why;
    cuda::Job job = core::begin_job(process_, address, &why);
    if (!why) device_memory_ = cuda::Block(job, bytes);
    if (!device_memory_.valid()) break;
    scratch_kind_ = cuda::MemoryKind::kDevice;
    return device_memory_.data();
  }
  if (memory_.size() > kKeptMemory && bytes < memory_.size() / 2) memory_ = {};
  if (memory_.size() < bytes) memory_.resize(bytes);
  return memory_.data();
}

// Under MPI_IN_PLACE one side is a part of the other, unless the input was copied.
void Bound::alias(Areas& areas) const noexcept {
  if (!operation().in_place) return;
  const int32_t rank = schedule_->rank;
  switch (schedule_->collective) {
    case Collective::kScatter:
      areas.output = block_of(areas.input, rank);
      return;
    case Collective::kGather:
    case Collective::kAllgather:
      areas.input = block_of(areas.output, rank);
      return;
    case Collective::kAlltoall:
    case Collective::kReduceScatter:
      return;
    default:
      areas.input = areas.output;
  }
}

// In place, an alltoall overwrites the input before the sends, so the blocks are copied, as bytes.
void Bound::pack_blocks(const Side& side, const Area& users, CopiedSide& copied) {
  const bool output = &copied == &copied_output_;
  const int32_t blocks = schedule_->whole_blocks(output ? Space::kOutput : Space::kInput);
  copied.used = true;
  copied.users = users;
  copied.aside = !output || operation().in_place ? blocks : 0;
  copied.back = output ? blocks : 0;
  Area& copy = copied.copy = Area{};
  copy.type = byte_;
  if (side.counts == nullptr) {
    copy.block = side.count * side.type->size();
  } else {
    copied.counts.assign(side.counts, side.counts + blocks);
    for (size_t i = 0; i < copied.counts.size(); ++i)
      copied.counts[i] *= (side.types == nullptr ? side.type : side.types[i])->size();
    make_adjacent(copied.counts, copied.displs);
    copy.counts = copied.counts.data();
    copy.displs = copied.displs.data();
  }
  copied.bytes = round_up(static_cast<size_t>(total(copy, blocks)));
}

// Blocks are cut at bytes, so data with holes is packed first.
void Bound::pack_sides(const Areas& areas) {
  const auto holes = [](const Side& side) {
    return side.type != nullptr && (side.types != nullptr || !side.type->contiguous());
  };
  const Operation& op = operation();
  const bool scatters = schedule_->collective == Collective::kScatter;
  if (holes(op.input) && (!op.in_place || scatters))
    pack_blocks(op.input, areas.input, copied_input_);
  if (holes(op.output) && (!op.in_place || !scatters))
    pack_blocks(op.output, areas.output, copied_output_);
}

void Bound::put_vector_aside(const Area& input) {
  const core::Datatype& type = *input.type;
  const MPI_Count count = total(input, schedule_->ranks);
  const MPI_Aint span = std::abs(type.extent()) * std::max<MPI_Count>(count - 1, 0);
  copied_input_.used = true;
  copied_input_.aside = 1;
  copied_input_.bytes = round_up(static_cast<size_t>(span + type.true_extent()));
  copied_input_.users = input;
  copied_input_.users.block = count;
  copied_input_.users.counts = nullptr;
  copied_input_.copy = copied_input_.users;
  copied_input_.origin = (type.extent() < 0 ? span : 0) - type.true_lb();
}

// Ranks split a broadcast at bytes, so a root packs a vector with holes first, and other ranks
// unpack last.
void Bound::pack_bcast(Area& output) {
  core::Datatype& type = *operation().output.type;
  if (type.contiguous()) return;
  copied_output_.used = true;
  copied_output_.aside = is_root() ? 1 : 0;
  copied_output_.back = is_root() ? 0 : 1;
  copied_output_.users = output;
  output = Area{};
  output.type = byte_;
  output.block = operation().output.count * type.size();
  copied_output_.bytes = round_up(static_cast<size_t>(output.block));
  copied_output_.copy = output;
}

Bound::Aside Bound::aside(const CopiedSide& side, int32_t block, bool back) noexcept {
  const pml::Buffer user = buffer_of(block_of(side.users, block));
  const pml::Buffer kept = buffer_of(block_of(side.copy, block));
  return back ? Aside{kept, user} : Aside{user, kept};
}

}  // namespace tern::coll
