// SPDX-License-Identifier: Apache-2.0
// Geometry: element ranges of slices.
#include "coll/engine/geometry.hpp"

#include <algorithm>
#include <cstdlib>

namespace tern::coll {
namespace {

/// Elements of a vector before part `i` of `parts`.
constexpr MPI_Count before(MPI_Count length, MPI_Count parts, MPI_Count i) noexcept {
  const MPI_Count rest = length % parts;
  return length / parts * i + std::min(i, rest);
}

}  // namespace

size_t ScratchNeed::bytes(const Schedule& schedule) const noexcept {
  return round_up(stage_slot * static_cast<size_t>(schedule.stage_slots)) +
         (schedule.mirrors == 0 ? 0 : mirror * static_cast<size_t>(schedule.mirrors));
}

void Geometry::bind(const Schedule& schedule, const Area& input, const Area& output,
                    const Area& like, size_t chunk) noexcept {
  schedule_ = &schedule;
  input_ = input;
  output_ = output;
  like_ = like;
  splits_ = splits(schedule.collective);
  passes_ = 1;
  pass_length_ = like.block;
  if (splits_ && chunk != 0 && like.block > 0) {
    const auto bytes = static_cast<MPI_Count>(chunk) * schedule.parts;
    const MPI_Count element = std::max<MPI_Count>(1, like.scale * like.type->size());
    const MPI_Count most = std::max<MPI_Count>(schedule.parts, bytes / element);
    passes_ = (like.block + most - 1) / most;
    pass_length_ = (like.block + passes_ - 1) / passes_;
  }
  size_scratch();
}

void Geometry::size_scratch() noexcept {
  need_ = {};
  if (schedule_->stage_slots == 0 && schedule_->mirrors == 0) return;
  MPI_Count largest = splits_ ? before(pass_length_, schedule_->parts, 1) : like_.block;
  for (int32_t i = 0; !splits_ && like_.counts != nullptr && i < schedule_->ranks; ++i)
    largest = std::max(largest, like_.counts[i]);

  const MPI_Aint step = std::abs(like_.extent);
  const MPI_Aint data = like_.scale == 1 ? std::max(like_.type->true_extent(), step) : step;
  const auto bytes_of = [&](MPI_Count count) {
    return count == 0 ? size_t{0} : static_cast<size_t>((count - 1) * step + data);
  };
  // A slice may span equal slots.
  need_.stage_slot = schedule_->uniform ? bytes_of(largest) : round_up(bytes_of(largest));
  need_.mirror = round_up(bytes_of(splits_ ? pass_length_ : blocks_before(schedule_->ranks)));
  if (like_.scale == 1) need_.first_element = -like_.type->true_lb();
  const MPI_Count longest =
      std::max(largest, splits_ ? pass_length_ : blocks_before(schedule_->ranks));
  if (like_.extent < 0) need_.first_element += (longest - 1) * step;
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
  // The slice is contiguous (reduce_scatter's input).
  return {first, area.displs[last] + area.counts[last] - first};
}

MPI_Count Geometry::scratch_count(const Slice& slice) const noexcept {
  if (like_.counts == nullptr) return slice.blocks * like_.block;
  return blocks_before(slice.first + slice.blocks) - blocks_before(slice.first);
}

// Only reduce_scatter has mirrors of blocks, and its blocks are adjacent.
MPI_Count Geometry::blocks_before(int32_t block) const noexcept {
  if (like_.counts == nullptr) return block * like_.block;
  return block == 0 ? 0 : like_.displs[block - 1] + like_.counts[block - 1];
}

namespace {

/// Works for absolute addresses (MPI_BOTTOM) too.
std::byte* moved(std::byte* base, ptrdiff_t by) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(base) +
                                      static_cast<uintptr_t>(by));
}

}  // namespace

pml::Buffer Geometry::in_scratch(const Slice& slice, MPI_Count count, MPI_Count pass,
                                 std::byte* scratch) const noexcept {
  const auto place = static_cast<size_t>(slice.place);
  ptrdiff_t from = 0;
  if (slice.space == Space::kStage) {
    scratch += need_.stage_slot * place;
  } else {
    const auto parts = static_cast<size_t>(splits_ ? schedule_->parts : schedule_->ranks);
    scratch += round_up(need_.stage_slot * static_cast<size_t>(schedule_->stage_slots)) +
               need_.mirror * (place / parts);
    from = like_.extent * (splits_ ? before(length_of(pass), schedule_->parts, slice.first)
                                   : blocks_before(slice.first));
  }
  return {moved(scratch, need_.first_element + from), count * like_.scale, like_.type,
          scratch_kind_};
}

pml::Buffer Geometry::at(const Slice& slice, MPI_Count pass, std::byte* scratch) const noexcept {
  const bool scratched = slice.space == Space::kStage || slice.space == Space::kMirror;
  const Area& area = scratched ? like_ : slice.space == Space::kInput ? input_ : output_;
  if (area.types != nullptr)
    return {moved(area.base, area.displs[slice.first]), area.counts[slice.first],
            area.types[slice.first]};
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
