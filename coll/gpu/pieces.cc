// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/pieces.hpp"

#include <algorithm>

#include "coll/engine/check.hpp"
#include "coll/engine/pairs.hpp"
#include "core/datatype_device.hpp"

namespace tern::coll {
namespace {

using enum Collective;

constexpr MPI_Count before(MPI_Count length, MPI_Count parts, MPI_Count i) noexcept {
  return length / parts * i + std::min(i, length % parts);
}

bool overwrites(const Operation& operation) noexcept {
  return (operation.in_place || operation.onto_own_block) &&
         (operation.collective == kAlltoall || operation.collective == kReduceScatter);
}

bool on_host(const Side& side) noexcept {
  const std::byte* const first = first_byte_of(side);
  return first != nullptr && !cuda::on_device(cuda::kind_of(first));
}

}  // namespace

const char* Pieces::why_not(const Operation& operation) noexcept {
  const Collective what = operation.collective;
  if (operation.communicator->inter()) return "the communicator is an inter-communicator";
  if (goes_by_pairs(operation)) return "not every rank knows the sizes of all blocks";
  if (!reduces(what)) return nullptr;
  const char* why = nullptr;
  const core::Datatype& type = *operation.input.type;
  if (!core::device_reduction(*operation.op, type, &why)) return why;
  return type.contiguous() ? nullptr : "the reduced type has gaps";
}

Pieces::Pieces(const Operation& operation, const Placed& placed, const Room& room) noexcept
    : operation_(operation), schedule_(placed.schedule), splits_(splits(operation.collective)) {
  if (operation.collective == kBarrier) {
    passes_ = 1;
    return;
  }
  if (reduces(operation.collective)) element_ = operation.input.type->size();
  total_ = total_units();
  find_asides(room.sides);
  const auto locals = static_cast<size_t>(aside_in_ + aside_out_ + placed.local_blocks);
  unit_ = room.region / static_cast<size_t>(std::max(placed.most_blocks, 1));
  if (locals > 0) unit_ = std::min(unit_, room.local / locals);
  unit_ = unit_ / room.grain * room.grain;
  const MPI_Count most = static_cast<MPI_Count>(unit_) / element_ * schedule_.parts;
  if (total_ == 0 || most == 0) return;
  passes_ = std::max((total_ + most - 1) / most,
                     std::min(room.least, total_ * element_ / room.least_pass));
  length_ = (total_ + passes_ - 1) / passes_;
  if (!room.sides || 16 % element_ != 0) return;
  // Blocks of all passes but the last keep the vector's 16-byte alignment.
  const MPI_Count whole = 16 / element_ * schedule_.parts;
  length_ = (length_ + whole - 1) / whole * whole;
  passes_ = (total_ + length_ - 1) / length_;
}

// All ranks reserve local memory for saved input if any rank may need the memory, for equal passes.
void Pieces::find_asides(bool sides) noexcept {
  const bool reduced = reduces(operation_.collective);
  // Kernel engines pack host data themselves. Each memory query is a driver call.
  input_aside_ = overwrites(operation_) || (reduced && !sides && on_host(operation_.input));
  const bool writes = operation_.collective != kExscan || schedule_.rank > 0;
  output_aside_ = reduced && !sides && writes && on_host(operation_.output);
  const int32_t all = schedule_.mirror_blocks();
  if (reduced || overwrites(operation_)) aside_in_ = all;
  aside_out_ = reduced || !splits_ ? schedule_.parts : 1;
  if (sides) aside_in_ = aside_out_ = all;
}

MPI_Count Pieces::block_units(int32_t block) const noexcept {
  if (operation_.collective == kAllgather) return length_of(operation_.output, block);
  return operation_.collective == kReduceScatter ? length_of(operation_.input, block) : total_;
}

MPI_Count Pieces::total_units() const noexcept {
  const Side& side = agreed_side(operation_);
  const bool allgather = operation_.collective == kAllgather;
  if (!allgather && operation_.collective != kReduceScatter) return length_of(side, 0);
  const Side& all = allgather ? operation_.output : operation_.input;
  MPI_Count most = 0;
  for (int32_t block = 0; block < schedule_.ranks; ++block)
    most = std::max(most, length_of(all, block));
  return most;
}

MPI_Count Pieces::length_of(const Side& side, int32_t block) const noexcept {
  const MPI_Count count = side.counts == nullptr ? side.count : side.counts[block];
  return reduces(operation_.collective) ? count : count * side.type->size();
}

ElementRange Pieces::in_vector(const Slice& slice, MPI_Count pass) const noexcept {
  const MPI_Count start = pass * length_, length = std::min(length_, total_ - start);
  const MPI_Count first = before(length, schedule_.parts, slice.first);
  return {start + first, before(length, schedule_.parts, slice.first + slice.blocks) - first};
}

ElementRange Pieces::range_of(const Slice& slice, MPI_Count pass) const noexcept {
  if (splits_) return in_vector(slice, pass);
  const int32_t block = slice.first / schedule_.parts, part = slice.first % schedule_.parts;
  MPI_Count whole = total_;
  if (operation_.collective == kAllgather)
    whole = length_of(operation_.output, slice.space == Space::kInput ? schedule_.rank : block);
  else if (operation_.collective == kReduceScatter)
    whole = length_of(operation_.input, slice.space == Space::kOutput ? schedule_.rank : block);
  const MPI_Count start = pass * length_;
  const MPI_Count length = std::clamp<MPI_Count>(whole - start, 0, length_);
  const MPI_Count first = before(length, schedule_.parts, part);
  return {start + first, before(length, schedule_.parts, part + slice.blocks) - first};
}

size_t Pieces::bytes(const Slice& slice, MPI_Count pass) const noexcept {
  return static_cast<size_t>(range_of(slice, pass).count * element_);
}

Pieces::DataPiece Pieces::in_block(const Side& side, int32_t block, bool alone,
                                   const ElementRange& range) const noexcept {
  return {block_of(side, alone ? -1 : block), static_cast<size_t>(range.first * element_),
          static_cast<size_t>(range.count * element_)};
}

Pieces::DataPiece Pieces::piece(const Slice& slice, MPI_Count pass) const noexcept {
  const ElementRange range = range_of(slice, pass);
  const Side& input = operation_.input;
  const Side& output = operation_.output;
  const int32_t rank = schedule_.rank, block = slice.first / schedule_.parts;
  if (slice.space == Space::kOutput) {
    const bool alone =
        splits_ || operation_.collective == kScatter || operation_.collective == kReduceScatter;
    if (operation_.collective == kScatter && operation_.in_place)
      return in_block(input, rank, false, range);
    return in_block(output, block, alone, range);
  }
  const bool alone =
      splits_ || operation_.collective == kAllgather || operation_.collective == kGather;
  if (!operation_.in_place || operation_.collective == kScatter)
    return in_block(input, block, alone, range);
  return in_block(output, alone && !splits_ ? rank : block, splits_, range);
}

Pieces::DataPiece Pieces::users(Space space, int32_t block, MPI_Count pass) const noexcept {
  if (space == Space::kInput && block < puts_aside()) return put_aside(block, pass).users;
  return piece(whole(space, block), pass);
}

bool Pieces::is_alone(Space space) const noexcept {
  const Collective what = operation_.collective;
  if (space == Space::kOutput) return what == kScatter || what == kReduceScatter;
  return what == kAllgather || what == kGather;
}

Pieces::Aside Pieces::put_aside(int32_t block, MPI_Count pass) const noexcept {
  const Slice slice = whole(Space::kInput, block);
  const bool swaps = operation_.collective == kAlltoall;
  return {
      in_block(swaps ? operation_.output : operation_.input, block, splits_, range_of(slice, pass)),
      in_local(slice, pass)};
}

Pieces::Aside Pieces::bring_back(MPI_Count pass) const noexcept {
  const Slice slice = whole(Space::kOutput, 0);
  return {piece(slice, pass), in_local(slice, pass)};
}

// Local memory holds the pass's part of each block, adjacent.
size_t Pieces::in_local(const Slice& slice, MPI_Count pass) const noexcept {
  const auto blocks = [&](int32_t count) { return static_cast<size_t>(count) * unit_; };
  const int32_t front = aside_in_ + aside_out_;
  if (slice.space == Space::kStage) return blocks(front + slice.place);
  const int32_t block = splits_ ? 0 : slice.first / schedule_.parts * schedule_.parts;
  const auto inside =
      static_cast<size_t>((range_of(slice, pass).first - pass * length_) * element_);
  if (slice.space == Space::kInput) return blocks(block) + inside;
  if (slice.space == Space::kOutput) return blocks(aside_in_) + inside;
  const int32_t each = schedule_.mirror_blocks();
  return blocks(front + schedule_.stage_slots + slice.place / each * each + block) + inside;
}

}  // namespace tern::coll
