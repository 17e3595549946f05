// SPDX-License-Identifier: Apache-2.0
// Flat collectives that move data.
#include "base/error.hpp"
#include "coll/flat/parts.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::coll {

using enum Collective;

const std::byte* Parts::await(int rank, size_t bytes) {
  Slot& slot = slots_.await(rank);
  if (TERN_LIKELY(slot.bytes == bytes)) return slot.data();
  if ((slot.bytes & Slots::kFromDevice) != 0) slots_.find_device();
  const uint64_t posted = slot.bytes & ~Slots::kFromDevice;
  if (posted == bytes || code_ != MPI_SUCCESS) return slot.data();
  if ((posted & Slots::kPoisoned) != 0)
    code_ = fail(MPI_ERR_OTHER, "%s: rank %d has failed; its own error says why", name_, rank);
  else
    code_ = fail(MPI_ERR_TRUNCATE,
                 "%s: rank %d passes %llu bytes, but the arguments of rank %d say %zu", name_, rank,
                 static_cast<unsigned long long>(posted), rank_, bytes);
  return slot.data();
}

void Parts::write_elsewhere() {
  slots_.claim();
  slots_.post(Slots::kElsewhere | static_cast<uint64_t>(total_ * size_));
}

Where Parts::where(Slots& slots) {
  int there = 0, unlike = 0;
  const uint64_t own = slots.await(slots.rank()).bytes;
  for (int i = 0; i < slots.ranks(); ++i) {
    const uint64_t posted = slots.await(i).bytes;
    there += (posted & Slots::kElsewhere) != 0;
    unlike += posted != own;
  }
  if (TERN_LIKELY(there == 0)) return Where::kHost;
  return there == slots.ranks() && unlike == 0 ? Where::kAll : Where::kSome;
}

// Reads all posts first: in place, taking a part would overwrite data to be posted again.
Where Parts::run_here(bool mine) {
  slots_.begin(name_);
  mine ? write_elsewhere() : write(0);
  const Where where = Parts::where(slots_);
  if (TERN_UNLIKELY(where != Where::kHost)) {
    slots_.awaited_all();
    slots_.end();
    return where;
  }
  read(0);
  slots_.end();
  run(1);
  return where;
}

void Parts::await_all() {
  for (int i = 1; i < ranks_; ++i) slots_.await((rank_ + i) % ranks_);
  slots_.awaited_all();
}

// Data lies on the host.
void Parts::copy_own(int input_block, int output_block) noexcept {
  if (operation_.in_place || in_.bytes() == 0) return;
  if (TERN_LIKELY(in_.dense() && out_.dense()))
    return copy_bytes(out_.at(output_block), in_.at(input_block), in_.bytes());
  const auto buffer = [](const Side& side, int block) {
    auto* const address = static_cast<std::byte*>(side.address);
    return pml::Buffer{address + block * side.count * side.type->extent(), side.count, side.type};
  };
  const int code = fail(core::copy(operation_.communicator->channel().process,
                                   buffer(operation_.input, input_block),
                                   buffer(operation_.output, output_block)));
  if (code_ == MPI_SUCCESS) code_ = code;
}

Parts::Sources Parts::sources(int64_t /*epoch*/) const noexcept {
  const bool root = rank_ == root_;
  switch (operation_.collective) {
    case kBcast:
    case kScatter:
      return root ? Sources{0, 0} : Sources{root_, root_ + 1};
    case kGather:
    case kReduce:
      return root ? Sources{0, ranks_} : Sources{0, 0};
    case kScan:
      return {0, rank_ + 1};
    case kExscan:
      return {0, rank_};
    default:
      return {0, ranks_};
  }
}

void Parts::reach() {
  const bool rooted_move = operation_.collective == kGather || operation_.collective == kScatter;
  if (rooted_move && rank_ != root_) return slots_.reach(root_, root_ + 1);
  slots_.reach(0, ranks_);
}

bool Parts::writes(int64_t /*epoch*/) const noexcept {
  switch (operation_.collective) {
    case kBcast:
    case kScatter:
      return rank_ == root_;
    case kGather:
      return rank_ != root_;
    default:
      return true;
  }
}

void Parts::post_block(const View& view, int block, const ElementRange& range) {
  view.read(block, bytes_of(range.first), slots_.claim(), bytes_of(range.count));
  slots_.post(bytes_of(range.count));
}

void Parts::post_blocks(const View& view, const ElementRange& range) {
  std::byte* const slot = slots_.claim();
  const size_t bytes = bytes_of(range.count);
  size_t filled = 0;
  for (int i = 0; i < ranks_; ++i)
    if (i != rank_) view.read(i, bytes_of(range.first), slot + bytes * filled++, bytes);
  slots_.post(bytes);
}

void Parts::take(int rank, int to, const ElementRange& range, size_t posted, size_t offset) {
  out_.write(to, bytes_of(range.first), await(rank, posted) + offset, bytes_of(range.count));
}

void Parts::take_blocks(const ElementRange& range) {
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    take(from, from, range, bytes_of(range.count), 0);
  }
  slots_.awaited_all();
}

void Parts::take_exchanged(const ElementRange& range) {
  const size_t bytes = bytes_of(range.count);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    take(from, from, range, bytes, bytes * place_with(from));
  }
  slots_.awaited_all();
}

void Parts::write(int64_t epoch) {
  const ElementRange range = piece(epoch);
  const bool root = rank_ == root_, in_place = operation_.in_place;
  switch (operation_.collective) {
    case kBcast:
      return root ? post_block(out_, 0, range) : void();
    case kGather:
      return root ? void() : post_block(in_, 0, range);
    case kScatter:
      return root ? post_blocks(in_, range) : void();
    case kBarrier:
    case kAllgather:
      return post_block(in_place ? out_ : in_, in_place ? rank_ : 0, range);
    case kAlltoall:
      return post_blocks(in_place ? out_ : in_, range);
    case kReduceScatter:
      return post_scattered(range);
    default:
      return post(range);
  }
}

// Copies this rank's block after the peers may continue.
void Parts::read(int64_t epoch) {
  const ElementRange range = piece(epoch);
  const bool root = rank_ == root_, first = epoch == 0;
  switch (operation_.collective) {
    case kBarrier:
      return await_all();
    case kBcast:
      return root ? void() : take(root_, 0, range, bytes_of(range.count), 0);
    case kGather:
      if (root && first) copy_own(0, root_);
      return root ? take_blocks(range) : void();
    case kScatter:
      if (root && first) copy_own(root_, 0);
      return root ? void()
                  : take(root_, 0, range, bytes_of(range.count),
                         bytes_of(range.count) * place_with(root_));
    case kAllgather:
      if (first) copy_own(0, rank_);
      return take_blocks(range);
    case kAlltoall:
      if (first) copy_own(rank_, rank_);
      return take_exchanged(range);
    case kReduceScatter:
      return reduce_scattered(range);
    default:
      return reduce_read(sources(epoch).end, range);
  }
}

}  // namespace tern::coll
