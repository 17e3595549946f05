// SPDX-License-Identifier: Apache-2.0
// Flat collectives of large data: everybody posts where its data is, and copies what it needs
// straight from the others' buffers. A buffer is the user's again when all have ended the epoch.
#include "coll/flat/direct.hpp"

#include <cinttypes>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

/// Bytes reduced at once: much for a copy between processes, little for a cache.
constexpr size_t kPiece = 131072;

}  // namespace

// A rank that has failed has nothing to read: a length of 0 says so.
void Direct::post_address(const void* address) {
  const auto value = reinterpret_cast<uint64_t>(address);
  copy_bytes(slots_.claim(), &value, sizeof value);
  slots_.post(code_ == MPI_SUCCESS ? sizeof value : 0);
}

const std::byte* Direct::for_others(const std::byte* data, size_t bytes,
                                    std::vector<std::byte>& aside) {
  if (TERN_LIKELY(bytes == 0 || slots_.is_readable(data, bytes))) return data;
  aside.assign(data, data + bytes);
  return aside.data();
}

void Direct::get(int rank, void* to, size_t offset, size_t bytes) {
  uint64_t address = 0;
  copy_bytes(&address, await(rank, sizeof address), sizeof address);
  if (bytes == 0 || TERN_UNLIKELY(code_ != MPI_SUCCESS)) return;
  const int error = slots_.get(rank, to, address + offset, bytes);
  if (TERN_UNLIKELY(error != 0))
    code_ = fail(MPI_ERR_OTHER, "%s: %zu bytes at 0x%" PRIx64 " of rank %d cannot be read: %s",
                 name_, bytes, address + offset, rank, std::strerror(error));
}

const std::byte* Direct::dense_blocks(const View& view, int first, int blocks,
                                      std::vector<std::byte>& aside) {
  if (view.adjacent() || (blocks == 1 && view.dense())) return view.at(first);
  return packed_blocks(view, first, blocks, aside);
}

const std::byte* Direct::packed_blocks(const View& view, int first, int blocks,
                                       std::vector<std::byte>& aside) {
  aside.resize(static_cast<size_t>(blocks) * view.bytes());
  for (int i = 0; i < blocks; ++i)
    view.read(first + i, 0, aside.data() + static_cast<size_t>(i) * view.bytes(), view.bytes());
  return aside.data();
}

void Direct::get_block(int rank, int theirs, int block, std::vector<std::byte>& aside) {
  const size_t bytes = out_.bytes();
  const size_t offset = static_cast<size_t>(theirs) * bytes;
  if (out_.dense()) return get(rank, out_.at(block), offset, bytes);
  get(rank, aside.data(), offset, bytes);
  out_.write(block, 0, aside.data(), bytes);
}

// Then an empty epoch: a slab serves others only when this one is ended, too. Then all ranks have
// looked at it for the last time.
void Direct::await_ends() {
  for (int i = 1; i < ranks_; ++i) slots_.await_end((rank_ + i) % ranks_);
  slots_.begin(name_);
  slots_.end();
}

void Direct::allgather() {
  std::vector<std::byte> packed, aside(out_.dense() ? 0 : out_.bytes());
  const std::byte* own =
      operation_.in_place ? dense_blocks(out_, rank_, 1, packed) : dense_blocks(in_, 0, 1, packed);
  own = for_others(own, out_.bytes(), packed);
  slots_.begin(name_);
  post_address(own);
  copy_own(0, rank_);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    get_block(from, 0, from, aside);
  }
  slots_.awaited_all();
  slots_.end();
  await_ends();
}

// In place what the others want would be overwritten: it moves aside first.
void Direct::alltoall() {
  std::vector<std::byte> packed, aside(out_.dense() ? 0 : out_.bytes());
  const std::byte* own = operation_.in_place ? packed_blocks(out_, 0, ranks_, packed)
                                             : dense_blocks(in_, 0, ranks_, packed);
  own = for_others(own, static_cast<size_t>(ranks_) * out_.bytes(), packed);
  slots_.begin(name_);
  post_address(own);
  copy_own(rank_, rank_);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    get_block(from, rank_, from, aside);
  }
  slots_.awaited_all();
  slots_.end();
  await_ends();
}

// Piece by piece, so that operands stay in the cache. In place `to` is one of the operands.
void Direct::reduce_slice(const Range& own, std::byte* to) {
  if (own.count == 0) return;
  std::byte* const scratch = slots_.scratch(2 * kPiece);
  const auto most = static_cast<MPI_Count>(kPiece) / size_;
  const core::Datatype& type = *operation_.input.type;
  const bool onto_own = reduces_onto_own() && to == in_.at(0, bytes_of(own.first));
  for (MPI_Count at = 0; at < own.count; at += most) {
    const MPI_Count count = std::min(most, own.count - at);
    const size_t offset = bytes_of(own.first + at), bytes = bytes_of(count);
    const bool aside = operation_.in_place && !onto_own;
    std::byte* const sum = aside ? scratch + kPiece : to + bytes_of(at);
    bool begun = onto_own;
    for (int rank = ranks_ - 1; rank >= 0; --rank) {
      const bool mine = rank == rank_;
      if (mine && onto_own) continue;
      if (!mine) get(rank, begun ? scratch : sum, offset, bytes);
      if (mine && !begun) copy_bytes(sum, in_.at(0, offset), bytes);
      if (begun) operation_.op->apply(mine ? in_.at(0, offset) : scratch, sum, count, type);
      begun = true;
    }
    if (aside) copy_bytes(to + bytes_of(at), sum, bytes);
  }
}

// Of two, each reads the other's whole vector: that is as much as two halves, and one epoch less.
void Direct::reduce_between_two(bool all) {
  slots_.scratch(2 * kPiece);  // memory first: an epoch that has begun must end
  std::vector<std::byte> copy;
  const std::byte* const input = for_others(in_.at(0), bytes_of(operation_.input.count), copy);
  slots_.begin(name_);
  post_address(input);
  if (all || rank_ == root_) reduce_slice({0, operation_.input.count}, out_.at(0));
  slots_.end();
  await_ends();
}

// In place the result would lie where others still read: it waits aside.
void Direct::reduce_scatter() {
  Range own{0, length_of(rank_)};
  for (int i = 0; i < rank_; ++i) own.first += length_of(i);
  std::vector<std::byte> aside(operation_.in_place ? bytes_of(own.count) : 0);
  slots_.scratch(2 * kPiece);
  MPI_Count total = own.end();
  for (int i = rank_ + 1; i < ranks_; ++i) total += length_of(i);
  std::vector<std::byte> copy;
  const std::byte* const input = for_others(in_.at(0), bytes_of(total), copy);
  slots_.begin(name_);
  post_address(input);
  reduce_slice(own, operation_.in_place ? aside.data() : out_.at(0));
  for (int i = 0; i < ranks_; ++i) await(i, sizeof(uint64_t));
  slots_.awaited_all();
  slots_.end();
  await_ends();
  if (!aside.empty()) copy_bytes(out_.at(0), aside.data(), aside.size());
}

// Two epochs: each rank reduces its slice, then all, or the root, read the slices. In place the
// slice takes the place of an operand that no other rank needs.
void Direct::reduce(bool all) {
  if (ranks_ == 2 && !(all && operation_.in_place)) return reduce_between_two(all);
  const Range own = slice(operation_.input.count, rank_);
  const bool has_output = all || rank_ == root_;
  const size_t bytes_own = bytes_of(own.count);
  const bool in_output =
      has_output &&
      (own.count == 0 || slots_.is_readable(out_.at(0, bytes_of(own.first)), bytes_own));
  std::vector<std::byte> copy, aside(in_output ? 0 : bytes_own);
  std::byte* const reduced = in_output ? out_.at(0, bytes_of(own.first)) : aside.data();
  const std::byte* const input = for_others(in_.at(0), bytes_of(operation_.input.count), copy);
  slots_.scratch(2 * kPiece);  // memory first: an epoch that has begun must end
  slots_.begin(name_);
  post_address(input);
  for (int i = 0; i < ranks_; ++i) await(i, sizeof(uint64_t));
  slots_.awaited_all();
  reduce_slice(own, reduced);
  slots_.end();
  slots_.begin(name_);
  post_address(reduced);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    const Range part = slice(operation_.input.count, from);
    const size_t bytes = has_output ? bytes_of(part.count) : 0;
    get(from, has_output ? out_.at(0, bytes_of(part.first)) : nullptr, 0, bytes);
  }
  if (has_output && !in_output) copy_bytes(out_.at(0, bytes_of(own.first)), reduced, bytes_own);
  slots_.awaited_all();
  slots_.end();
  await_ends();
}

int flat_direct(const Operation& operation, Slots& slots);
int flat_direct(const Operation& operation, Slots& slots) {
  Direct parts(operation, slots);
  switch (operation.collective) {
    case Collective::kAllgather:
      parts.allgather();
      break;
    case Collective::kAlltoall:
      parts.alltoall();
      break;
    case Collective::kReduce:
      parts.reduce(false);
      break;
    case Collective::kAllreduce:
      parts.reduce(true);
      break;
    case Collective::kReduceScatter:
      parts.reduce_scatter();
      break;
    default:
      TERN_ASSERT(false && "the table has no such row");
  }
  return parts.code();
}

}  // namespace tern::coll
