// SPDX-License-Identifier: Apache-2.0
#include "stream/blocks.hpp"

#include <algorithm>
#include <utility>

#include "mpi.h"

namespace tern::stream {

CallBlocks::CallBlocks(core::Process& process, const Stream* stream, const coll::Side& side,
                       int count) {
  const auto blocks = static_cast<size_t>(count);
  if (side.counts == nullptr) {
    const auto each = static_cast<size_t>(side.count * side.type->size());
    areas_.emplace_back(process, stream, side.address, side.count * count, *side.type);
    *this = CallBlocks(std::move(areas_.front()), std::vector<size_t>(blocks, each));
    return;
  }
  MPI_Aint place = 0;
  for (size_t i = 0; i < blocks; ++i) {
    if (side.displs != nullptr) place = side.displs[i];
    areas_.emplace_back(process, stream,
                        static_cast<std::byte*>(side.address) + place * side.type->extent(),
                        side.counts[i], *side.type);
    bytes_.push_back(areas_.back().bytes());
    place += side.counts[i];
  }
  starts_.assign(blocks, 0);
}

CallBlocks::CallBlocks(Area all, std::vector<size_t> bytes) : bytes_(std::move(bytes)) {
  size_t start = 0;
  for (const size_t one : bytes_) {
    starts_.push_back(start);
    start += one;
  }
  equal_ =
      std::all_of(bytes_.begin(), bytes_.end(), [&](size_t one) { return one == bytes_.front(); });
  areas_.clear();
  areas_.push_back(std::move(all));
}

size_t CallBlocks::most_bytes() const noexcept {
  return bytes_.empty() ? 0 : *std::max_element(bytes_.begin(), bytes_.end());
}

size_t CallBlocks::bytes(int block, const PartOfBlocks& part) const noexcept {
  const size_t all = bytes(block);
  return all <= part.offset ? 0 : std::min(part.most, all - part.offset);
}

size_t CallBlocks::place(int block, const PartOfBlocks& part) const noexcept {
  size_t before = 0;
  for (int i = 0; i < block; ++i) before += bytes(i, part);
  return before;
}

std::byte* CallBlocks::rows() const noexcept {
  if (areas_.size() != 1 || !equal_ || !areas_.front().by_stream()) return nullptr;
  const core::Data& data = areas_.front().data();
  return data.type->contiguous() ? data.first() : nullptr;
}

void CallBlocks::copy_in(Track& track, const PartOfBlocks& part, std::byte* here) const noexcept {
  if (const std::byte* const from = rows())
    return track.copy_rows(here, bytes(0, part), from + part.offset, bytes_.front(), bytes(0, part),
                           bytes_.size());
  for (int i = 0; i < count(); here += bytes(i++, part)) copy_in(track, i, part, here);
}

void CallBlocks::copy_out(Track& track, const PartOfBlocks& part,
                          const std::byte* here) const noexcept {
  if (std::byte* const to = rows())
    return track.copy_rows(to + part.offset, bytes_.front(), here, bytes(0, part), bytes(0, part),
                           bytes_.size());
  for (int i = 0; i < count(); here += bytes(i++, part)) copy_out(track, i, part, here);
}

int CallBlocks::take(const PartOfBlocks& part, std::byte* here) const noexcept {
  int code = MPI_SUCCESS;
  for (int i = 0; i < count() && code == MPI_SUCCESS; here += bytes(i++, part))
    code = take(i, part, here);
  return code;
}

int CallBlocks::give(const PartOfBlocks& part, const std::byte* here) const noexcept {
  int code = MPI_SUCCESS;
  for (int i = 0; i < count() && code == MPI_SUCCESS; here += bytes(i++, part))
    code = give(i, part, here);
  return code;
}

void CallBlocks::copy_in(Track& track, int block, const PartOfBlocks& part,
                         std::byte* here) const noexcept {
  area(block).copy_in(track, start(block) + part.offset, here, bytes(block, part));
}

void CallBlocks::copy_out(Track& track, int block, const PartOfBlocks& part,
                          const std::byte* here) const noexcept {
  area(block).copy_out(track, start(block) + part.offset, here, bytes(block, part));
}

int CallBlocks::take(int block, const PartOfBlocks& part, std::byte* here) const noexcept {
  return area(block).take(start(block) + part.offset, here, bytes(block, part));
}

int CallBlocks::give(int block, const PartOfBlocks& part, const std::byte* here) const noexcept {
  return area(block).give(start(block) + part.offset, here, bytes(block, part));
}

}  // namespace tern::stream
