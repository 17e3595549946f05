// SPDX-License-Identifier: Apache-2.0
// Bound: maps the caller's buffers to the areas of a schedule's slices.
#include "coll/engine/bound.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace tern::coll {
namespace {

constexpr size_t kKeptMemory = size_t{1} << 20;

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

void Bound::bind(const Operation& operation, const Passes& passes, CachedSchedule& cached,
                 std::shared_ptr<CachedSchedule> own) {
  own_ = std::move(own);
  schedule_ = &cached.schedule;
  kept_.keep(operation, schedule_->blocks_of(Space::kInput), schedule_->blocks_of(Space::kOutput));
  Areas areas = find_areas();
  geometry_.bind(*schedule_, areas.input, areas.output, areas.like, passes.chunk);
  at_once_ = static_cast<size_t>(std::min(geometry_.passes(), static_cast<MPI_Count>(passes.most)));
  scratch_bytes_ = round_up(geometry_.scratch().bytes(*schedule_));
  place(areas, passes.chunk, find_memory(aside_bytes_ + at_once_ * scratch_bytes_ + kLine));
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

Area Bound::area_like() const noexcept {
  const Collective what = schedule_->collective;
  if (reduces(what)) return area_of(operation().input);
  const bool root = schedule_->rank == schedule_->root;
  const bool input =
      (what == Collective::kGather && !root) || (what == Collective::kScatter && root);
  const Side& side = input ? operation().input : operation().output;
  Area like;
  like.type = byte_;
  if (side.type != nullptr) like.block = side.count * side.type->size();
  return like;
}

Bound::Areas Bound::find_areas() {
  Areas areas{area_of(operation().input), area_of(operation().output), {}};
  aside_ = Kept::kNothing;
  aside_bytes_ = 0;
  aside_origin_ = 0;
  if (operation().in_place) bind_in_place(areas.input, areas.output);
  if (schedule_->collective == Collective::kBcast) pack_bcast(areas.output);
  areas.like = area_like();
  return areas;
}

void Bound::place(Areas& areas, size_t chunk, std::byte* memory) {
  scratch_ = memory + aside_bytes_;
  geometry_.set_scratch_kind(scratch_kind_);
  if (aside_ == Kept::kNothing) return;
  put_aside_.base = memory + aside_origin_;
  put_aside_.kind = scratch_kind_;
  Area& replaced = aside_ == Kept::kInput ? areas.input : areas.output;
  replaced.base = put_aside_.base;
  replaced.kind = scratch_kind_;
  geometry_.bind(*schedule_, areas.input, areas.output, areas.like, chunk);
}

// Scratch lies on the device if the rank has device data.
std::byte* Bound::find_memory(size_t bytes) {
  scratch_kind_ = cuda::MemoryKind::kHost;
  for (const Space space : {Space::kOutput, Space::kInput}) {
    const bool in = space == Space::kInput;
    const void* const address =
        first_data(in ? operation().input : operation().output, schedule_->blocks_of(space));
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

void Bound::bind_in_place(Area& input, Area& output) {
  const int32_t rank = schedule_->rank;
  switch (schedule_->collective) {
    case Collective::kScatter:
      output = block_of(input, rank);
      return;
    case Collective::kGather:
    case Collective::kAllgather:
      input = block_of(output, rank);
      return;
    case Collective::kAlltoall:
      return put_blocks_aside(input, output);
    case Collective::kReduceScatter:
      return put_vector_aside(input);
    default:
      input = output;
  }
}

// The collective overwrites the input before the sends, so the blocks are copied, as bytes.
void Bound::put_blocks_aside(Area& input, const Area& output) {
  aside_ = Kept::kInput;
  aside_blocks_ = schedule_->ranks;
  of_user_ = output;
  input = Area{};
  input.type = byte_;
  if (output.counts == nullptr) {
    input.block = operation().output.count * operation().output.type->size();
  } else {
    const Side& side = operation().output;
    aside_counts_.assign(side.counts, side.counts + schedule_->ranks);
    for (size_t i = 0; i < aside_counts_.size(); ++i)
      aside_counts_[i] *= (output.types == nullptr ? side.type : output.types[i])->size();
    make_adjacent(aside_counts_, aside_displs_);
    input.counts = aside_counts_.data();
    input.displs = aside_displs_.data();
  }
  aside_bytes_ = round_up(static_cast<size_t>(total(input, schedule_->ranks)));
  put_aside_ = input;
}

void Bound::put_vector_aside(Area& input) {
  const core::Datatype& type = *input.type;
  const MPI_Count count = total(input, schedule_->ranks);
  const MPI_Aint span = std::abs(type.extent()) * std::max<MPI_Count>(count - 1, 0);
  aside_ = Kept::kInput;
  aside_blocks_ = 1;
  aside_bytes_ = round_up(static_cast<size_t>(span + type.true_extent()));
  of_user_ = input;
  of_user_.block = count;
  of_user_.counts = nullptr;
  put_aside_ = of_user_;
  aside_origin_ = (type.extent() < 0 ? span : 0) - type.true_lb();
}

// Ranks split a broadcast at bytes, so a root packs a vector with holes first, and other ranks
// unpack last.
void Bound::pack_bcast(Area& output) {
  core::Datatype& type = *operation().output.type;
  if (type.contiguous()) return;
  aside_ = Kept::kBcast;
  aside_blocks_ = 1;
  of_user_ = output;
  output = Area{};
  output.type = byte_;
  output.block = operation().output.count * type.size();
  aside_bytes_ = round_up(static_cast<size_t>(output.block));
  put_aside_ = output;
}

Bound::Aside Bound::aside(int32_t block, bool back) const noexcept {
  const pml::Buffer user = buffer_of(block_of(of_user_, block));
  const pml::Buffer kept = buffer_of(block_of(put_aside_, block));
  return back ? Aside{kept, user} : Aside{user, kept};
}

}  // namespace tern::coll
