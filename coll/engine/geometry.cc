// SPDX-License-Identifier: Apache-2.0
// Geometry: element ranges of slices.
#include "coll/engine/geometry.hpp"

#include <algorithm>
#include <cstdlib>

namespace tern::coll {
namespace {

constexpr MPI_Count before(MPI_Count length, MPI_Count parts, MPI_Count i) noexcept {
  const MPI_Count rest = length % parts;
  return length / parts * i + std::min(i, rest);
}

MPI_Count start_of(const Area& area, int32_t block) noexcept {
  return area.counts == nullptr ? area.block * block : area.displs[block];
}
MPI_Count length_in(const Area& area, int32_t block) noexcept {
  return (area.counts == nullptr ? area.block : area.counts[block]) * area.scale;
}

MPI_Count largest_of(const Area& like, int32_t ranks) noexcept {
  MPI_Count largest = like.block;
  for (int32_t i = 0; like.counts != nullptr && i < ranks; ++i)
    largest = std::max(largest, like.counts[i]);
  return largest;
}

/// moved() also works for absolute addresses (MPI_BOTTOM).
std::byte* moved(std::byte* base, ptrdiff_t by) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(base) +
                                      static_cast<uintptr_t>(by));
}

}  // namespace

size_t ScratchNeed::bytes(const Schedule& schedule) const noexcept {
  return round_up(stage_slot * static_cast<size_t>(schedule.stage_slots)) +
         (schedule.mirrors == 0 ? 0 : mirror * static_cast<size_t>(schedule.mirrors));
}

MPI_Count Geometry::passes_of(const Schedule& schedule, const Area& like, size_t chunk) noexcept {
  if (chunk == 0) return 1;
  const bool vector = splits(schedule.collective);
  const MPI_Count length = vector ? like.block : largest_of(like, schedule.ranks);
  if (length <= schedule.parts) return 1;
  const auto bytes = static_cast<MPI_Count>(chunk) * schedule.parts;
  const MPI_Count most =
      std::max<MPI_Count>(schedule.parts, bytes / std::max<MPI_Count>(1, like.type->size()));
  return (length + most - 1) / most;
}

void Geometry::bind(const Schedule& schedule, const Area& input, const Area& output,
                    const Area& like, size_t chunk) noexcept {
  schedule_ = &schedule;
  input_ = input;
  output_ = output;
  like_ = like;
  splits_ = splits(schedule.collective);
  passes_ = passes_of(schedule, like, chunk);
  cuts_ = !splits_ && (schedule.parts > 1 || passes_ > 1);
  const MPI_Count length = cuts_ ? largest_of(like, schedule.ranks) : like.block;
  pass_length_ = (length + passes_ - 1) / passes_;
  size_scratch();
}

void Geometry::size_scratch() noexcept {
  need_ = {};
  if (schedule_->stage_slots == 0 && schedule_->mirrors == 0) return;
  const bool in_parts = splits_ || cuts_;
  const MPI_Count largest =
      in_parts ? before(pass_length_, schedule_->parts, 1) : largest_of(like_, schedule_->ranks);
  const MPI_Count in_mirror = splits_ ? pass_length_ : blocks_before(schedule_->ranks);

  const MPI_Aint step = std::abs(like_.extent);
  const MPI_Aint data = std::max(like_.type->true_extent(), step);
  const auto bytes_of = [&](MPI_Count count) {
    return count == 0 ? size_t{0} : static_cast<size_t>((count - 1) * step + data);
  };
  need_.stage_slot = schedule_->uniform ? bytes_of(largest) : round_up(bytes_of(largest));
  need_.mirror = round_up(bytes_of(in_mirror));
  need_.first_element = -like_.type->true_lb();
  if (like_.extent < 0) need_.first_element += (std::max(largest, in_mirror) - 1) * step;
}

MPI_Count Geometry::length_of(MPI_Count pass) const noexcept {
  return std::min(pass_length_, like_.block - pass * pass_length_);
}

ElementRange Geometry::split_range(const Slice& slice, MPI_Count pass) const noexcept {
  const MPI_Count start = pass * pass_length_;
  const MPI_Count length = length_of(pass);
  const MPI_Count first = before(length, schedule_->parts, slice.first);
  const MPI_Count end = before(length, schedule_->parts, slice.first + slice.blocks);
  return {start + first, end - first};
}

ElementRange Geometry::block_range(const Area& area, const Slice& slice) noexcept {
  if (area.counts == nullptr) return {slice.first * area.block, slice.blocks * area.block};
  const MPI_Count first = area.displs[slice.first];
  const int32_t last = slice.first + slice.blocks - 1;
  // The slice of reduce_scatter's input is contiguous.
  return {first, area.displs[last] + area.counts[last] - first};
}

MPI_Count Geometry::scratch_count(const Slice& slice) const noexcept {
  if (like_.counts == nullptr) return slice.blocks * like_.block;
  if (slice.blocks == 1) return like_.counts[slice.first];
  return blocks_before(slice.first + slice.blocks) - blocks_before(slice.first);
}

// Without passes, blocks of a mirror are adjacent, as in reduce_scatter's input. Other blocks of
// different sizes have equal room.
MPI_Count Geometry::blocks_before(int32_t block) const noexcept {
  if (passes_ > 1) return block * pass_length_;
  if (like_.counts == nullptr) return block * like_.block;
  if (schedule_->collective != Collective::kReduceScatter)
    return block * largest_of(like_, schedule_->ranks);
  return block == 0 ? 0 : like_.displs[block - 1] + like_.counts[block - 1];
}

ElementRange Geometry::cut_block(const Area& area, int32_t part, MPI_Count pass) const noexcept {
  const MPI_Count start = pass * pass_length_;
  MPI_Count length = length_in(area, part / schedule_->parts);
  // Not all ranks know the largest block of one pass.
  if (passes_ > 1) length = std::clamp<MPI_Count>(length - start, 0, pass_length_);
  const int32_t number = part % schedule_->parts;
  const MPI_Count first = before(length, schedule_->parts, number);
  return {start + first, before(length, schedule_->parts, number + 1) - first};
}

// A slice of several blocks is adjacent, and there is one pass.
Geometry::CutSlice Geometry::cut(const Area& area, const Slice& slice,
                                 MPI_Count pass) const noexcept {
  const int32_t last = slice.first + slice.blocks - 1;
  const int32_t block = slice.first / schedule_->parts, end = last / schedule_->parts;
  const ElementRange from = cut_block(area, slice.first, pass);
  if (slice.blocks == 1) return {block, from};
  const ElementRange to = cut_block(area, last, pass);
  // Scratch lacks displacements; slices in scratch stay within a block.
  const MPI_Count between =
      end == block ? 0 : (start_of(area, end) - start_of(area, block)) * area.scale;
  return {block, {from.first, between + to.end() - from.first}};
}

ptrdiff_t Geometry::place_in_mirror(const Slice& slice, MPI_Count pass) const noexcept {
  if (splits_) return before(length_of(pass), schedule_->parts, slice.first);
  if (!cuts_) return blocks_before(slice.first);
  const CutSlice cut = this->cut(like_, slice, pass);
  return blocks_before(cut.block) + cut.range.first - pass * pass_length_;
}

pml::Buffer Geometry::in_scratch(const Slice& slice, MPI_Count count, MPI_Count pass,
                                 std::byte* scratch) const noexcept {
  const auto place = static_cast<size_t>(slice.place);
  ptrdiff_t from = 0;
  if (slice.space == Space::kStage) {
    scratch += need_.stage_slot * place;
  } else {
    scratch += round_up(need_.stage_slot * static_cast<size_t>(schedule_->stage_slots)) +
               need_.mirror * (place / static_cast<size_t>(schedule_->mirror_blocks()));
    from = like_.extent * place_in_mirror(slice, pass);
  }
  return {moved(scratch, need_.first_element + from), count, like_.type, scratch_kind_};
}

pml::Buffer Geometry::cut_at(const Area& area, const Slice& slice, MPI_Count pass,
                             std::byte* scratch) const noexcept {
  const CutSlice cut = this->cut(area, slice, pass);
  if (&area == &like_) return in_scratch(slice, cut.range.count, pass, scratch);
  const MPI_Aint unit = area.scale == 1 ? area.extent : 1;
  return {moved(area.base, start_of(area, cut.block) * area.extent + cut.range.first * unit),
          cut.range.count, area.type, area.kind};
}

pml::Buffer Geometry::at(const Slice& slice, MPI_Count pass, std::byte* scratch) const noexcept {
  const bool scratched = slice.space == Space::kStage || slice.space == Space::kMirror;
  const Area& area = scratched ? like_ : slice.space == Space::kInput ? input_ : output_;
  if (area.types != nullptr)
    return {moved(area.base, area.displs[slice.first]), area.counts[slice.first],
            area.types[slice.first]};
  if (TERN_UNLIKELY(cuts_)) return cut_at(area, slice, pass, scratch);
  ElementRange range;
  if (splits_)
    range = split_range(slice, pass);
  else if (scratched)
    range = {0, scratch_count(slice)};
  else
    range = block_range(area, slice);
  if (scratched) return in_scratch(slice, range.count, pass, scratch);
  return {moved(area.base, range.first * area.extent), range.count * area.scale, area.type,
          area.kind};
}

}  // namespace tern::coll
