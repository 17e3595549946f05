// SPDX-License-Identifier: Apache-2.0
// Flat collectives that move data.
#include "base/error.hpp"
#include "coll/engine_host.hpp"
#include "coll/flat/parts.hpp"
#include "mpi.h"

namespace tern::coll {

Parts::Parts(const Operation& operation, Slots& slots) noexcept
    : operation_(operation),
      slots_(slots),
      name_(name_of(operation.collective)),
      rank_(slots.rank()),
      ranks_(slots.ranks()),
      root_(operation.root),
      in_(operation.input),
      out_(operation.output) {
  if (operation.op != nullptr) size_ = operation.input.type->size();
}

const std::byte* Parts::await(int rank, size_t bytes) noexcept {
  Slot& slot = slots_.await(rank);
  if (TERN_LIKELY(slot.bytes == bytes) || code_ != MPI_SUCCESS) return slot.data();
  if ((slot.bytes & Slots::kSpoilt) != 0)
    code_ = fail(MPI_ERR_OTHER, "%s: rank %d could not read its data; its own error says why",
                 name_, rank);
  else
    code_ = fail(MPI_ERR_TRUNCATE,
                 "%s: rank %d passes %llu bytes, but the arguments of rank %d say %zu", name_, rank,
                 static_cast<unsigned long long>(slot.bytes), rank_, bytes);
  return slot.data();
}

void Parts::await_all() noexcept {
  for (int i = 1; i < ranks_; ++i) slots_.await((rank_ + i) % ranks_);
  slots_.awaited_all();
}

// Nothing is copied where the user says that it is there already.
void Parts::copy_own(int input_block, int output_block) noexcept {
  if (operation_.in_place || in_.bytes() == 0) return;
  const auto buffer = [](const Side& side, int block) {
    auto* const address = static_cast<std::byte*>(side.address);
    return pml::Buffer{address + block * side.count * side.type->extent(), side.count, side.type};
  };
  const int code =
      core::copy(operation_.communicator->channel().process, buffer(operation_.input, input_block),
                 buffer(operation_.output, output_block));
  if (code_ == MPI_SUCCESS) code_ = code;
}

void Parts::barrier() noexcept {
  slots_.begin(name_);
  slots_.claim();
  slots_.post(0);
  await_all();
  slots_.end();
}

void Parts::bcast() noexcept {
  in_pieces(out_.bytes(), slots_.room(), [&](size_t at, size_t bytes) {
    if (rank_ != root_) return out_.write(0, at, await(root_, bytes), bytes);
    out_.read(0, at, slots_.claim(), bytes);
    slots_.post(bytes);
  });
}

void Parts::gather() noexcept {
  const bool root = rank_ == root_;
  if (root) copy_own(0, root_);
  in_pieces((root ? out_ : in_).bytes(), slots_.room(), [&](size_t at, size_t bytes) {
    if (!root) {
      in_.read(0, at, slots_.claim(), bytes);
      return slots_.post(bytes);
    }
    for (int i = 1; i < ranks_; ++i) {
      const int from = (rank_ + i) % ranks_;
      out_.write(from, at, await(from, bytes), bytes);
    }
    slots_.awaited_all();
  });
}

void Parts::scatter() noexcept {
  const bool root = rank_ == root_;
  if (root) copy_own(root_, 0);
  const size_t most = slots_.room() / static_cast<size_t>(ranks_);
  in_pieces((root ? in_ : out_).bytes(), most, [&](size_t at, size_t bytes) {
    if (!root) {
      const std::byte* posted = await(root_, bytes);
      return out_.write(0, at, posted + static_cast<size_t>(rank_) * bytes, bytes);
    }
    std::byte* slot = slots_.claim();
    for (int i = 0; i < ranks_; ++i, slot += bytes)
      if (i != rank_) in_.read(i, at, slot, bytes);
    slots_.post(bytes);
  });
}

void Parts::allgather() noexcept {
  const View& own = operation_.in_place ? out_ : in_;
  const int block = operation_.in_place ? rank_ : 0;
  copy_own(0, rank_);
  in_pieces(out_.bytes(), slots_.room(), [&](size_t at, size_t bytes) {
    own.read(block, at, slots_.claim(), bytes);
    slots_.post(bytes);
    for (int i = 1; i < ranks_; ++i) {
      const int from = (rank_ + i) % ranks_;
      out_.write(from, at, await(from, bytes), bytes);
    }
    slots_.awaited_all();
  });
}

void Parts::alltoall() noexcept {
  const View& own = operation_.in_place ? out_ : in_;
  const size_t most = slots_.room() / static_cast<size_t>(ranks_);
  copy_own(rank_, rank_);
  in_pieces(out_.bytes(), most, [&](size_t at, size_t bytes) {
    std::byte* slot = slots_.claim();
    for (int i = 0; i < ranks_; ++i, slot += bytes)
      if (i != rank_) own.read(i, at, slot, bytes);
    slots_.post(bytes);
    for (int i = 1; i < ranks_; ++i) {
      const int from = (rank_ + i) % ranks_;
      const std::byte* posted = await(from, bytes);
      out_.write(from, at, posted + static_cast<size_t>(rank_) * bytes, bytes);
    }
    slots_.awaited_all();
  });
}

}  // namespace tern::coll
