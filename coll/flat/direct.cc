// SPDX-License-Identifier: Apache-2.0
// Direct: large data, copied straight from the peers' buffers.
#include "coll/flat/direct.hpp"

#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

/// kPiece is large for a copy between processes, small for a cache.
constexpr size_t kPiece = 65536;

}  // namespace

using enum Collective;

Direct::Direct(const Operation& operation, Slots& slots) noexcept : Parts(operation, slots) {
  const bool reduces_for_others =
      operation.collective == kAllreduce || operation.collective == kReduce;
  epochs_ = reduces_for_others && !between_two() ? 3 : 2;
}

// Two ranks read each other's whole vector, which saves an epoch.
bool Direct::between_two() const noexcept {
  return ranks_ == 2 && !(operation_.collective == kAllreduce && operation_.in_place);
}

bool Direct::has_output() const noexcept {
  return operation_.collective != kReduce || rank_ == root_;
}

// An exchange in place would overwrite the peers' data, so prepare() copies the data first.
void Direct::prepare() {
  const bool in_place = operation_.in_place;
  switch (operation_.collective) {
    case kAllgather:
      input_ = in_place ? dense_blocks(out_, rank_, 1) : dense_blocks(in_, 0, 1);
      input_ = for_others(input_, out_.bytes());
      break;
    case kAlltoall:
      input_ = in_place ? packed_blocks(out_, 0, ranks_) : dense_blocks(in_, 0, ranks_);
      input_ = for_others(input_, static_cast<size_t>(ranks_) * out_.bytes());
      break;
    case kReduceScatter:
      return prepare_reduce_scatter();
    default:
      return prepare_reduction();
  }
  if (!out_.dense()) aside_.resize(out_.bytes());
}

// In place, the result goes to aside_ first, because peers still read the output.
void Direct::prepare_reduce_scatter() {
  slots_.scratch(2 * kPiece);
  own_ = {0, length_of(rank_)};
  for (int i = 0; i < rank_; ++i) own_.first += length_of(i);
  MPI_Count total = own_.end();
  for (int i = rank_ + 1; i < ranks_; ++i) total += length_of(i);
  if (operation_.in_place) aside_.resize(bytes_of(own_.count));
  input_ = for_others(in_.at(0), bytes_of(total));
}

// In place, a rank's reduced slice replaces an operand that no other rank needs.
void Direct::prepare_reduction() {
  slots_.scratch(2 * kPiece);
  const MPI_Count count = operation_.input.count;
  const bool is_read = operation_.collective == kAllreduce || !between_two() || !has_output();
  input_ = is_read ? for_others(in_.at(0), bytes_of(count)) : in_.at(0);
  if (between_two()) {
    own_ = {0, has_output() ? count : 0};
    reduced_ = out_.at(0);
    return;
  }
  own_ = slice(count, rank_);
  if (own_.count == 0) return;
  if (has_output()) reduced_ = out_.at(0, bytes_of(own_.first));
  if (reduced_ != nullptr && slots_.is_readable(reduced_, bytes_of(own_.count))) return;
  aside_.resize(bytes_of(own_.count));
  reduced_ = aside_.data();
}

void Direct::post(const std::byte* data) {
  const Post value = reinterpret_cast<uint64_t>(data);
  copy_bytes(slots_.claim(), &value, sizeof value);
  slots_.post(code_ == MPI_SUCCESS ? sizeof value : Slots::kPoisoned);
}

const std::byte* Direct::for_others(const std::byte* data, size_t bytes) {
  if (TERN_LIKELY(bytes == 0 || slots_.is_readable(data, bytes))) return data;
  packed_.assign(data, data + bytes);
  return packed_.data();
}

// cannot_get() lets the launcher report the cause of a peer's death (ESRCH) first.
int Direct::cannot_get(int rank, uint64_t address, size_t bytes, int error) noexcept {
  if (error != ESRCH)
    return fail(MPI_ERR_OTHER, "%s: %zu bytes at 0x%" PRIx64 " of rank %d cannot be read: %s",
                name_, bytes, address, rank, std::strerror(error));
  constexpr useconds_t kLauncherFirst = 200'000;
  ::usleep(kLauncherFirst);
  return fail(MPI_ERR_PROC_ABORTED, "%s: rank %d has died while others read its data", name_, rank);
}

void Direct::get(int rank, void* to, size_t offset, size_t bytes) {
  Post address = 0;
  copy_bytes(&address, await(rank, sizeof address), sizeof address);
  if (bytes == 0 || TERN_UNLIKELY(code_ != MPI_SUCCESS)) return;
  const int error = slots_.get(rank, to, address + offset, bytes);
  if (TERN_UNLIKELY(error != 0)) code_ = cannot_get(rank, address + offset, bytes, error);
}

const std::byte* Direct::dense_blocks(const View& view, int first, int blocks) {
  if (view.adjacent() || (blocks == 1 && view.dense())) return view.at(first);
  return packed_blocks(view, first, blocks);
}

const std::byte* Direct::packed_blocks(const View& view, int first, int blocks) {
  packed_.resize(static_cast<size_t>(blocks) * view.bytes());
  for (int i = 0; i < blocks; ++i)
    view.read(first + i, 0, packed_.data() + static_cast<size_t>(i) * view.bytes(), view.bytes());
  return packed_.data();
}

void Direct::get_block(int rank, int theirs, int block) {
  const size_t bytes = out_.bytes();
  const size_t offset = static_cast<size_t>(theirs) * bytes;
  if (out_.dense()) return get(rank, out_.at(block), offset, bytes);
  get(rank, aside_.data(), offset, bytes);
  if (code_ == MPI_SUCCESS) out_.write(block, 0, aside_.data(), bytes);
}

void Direct::write(int64_t epoch) {
  if (epoch == 0) return post(input_);
  if (epoch < epochs_ - 1) return post(reduced_);
  slots_.claim();
  slots_.post(0);
}

void Direct::read(int64_t epoch) {
  if (epoch == 0) return read_inputs();
  if (epoch < epochs_ - 1) return read_slices();
  return end();
}

void Direct::read_inputs() {
  switch (operation_.collective) {
    case kAllgather:
      if (code_ == MPI_SUCCESS) copy_own(0, rank_);
      for (int i = 1; i < ranks_; ++i) {
        const int from = (rank_ + i) % ranks_;
        get_block(from, 0, from);
      }
      break;
    case kAlltoall:
      if (code_ == MPI_SUCCESS) copy_own(rank_, rank_);
      for (int i = 1; i < ranks_; ++i) {
        const int from = (rank_ + i) % ranks_;
        get_block(from, rank_, from);
      }
      break;
    case kReduceScatter:
      reduce_slice(own_, operation_.in_place ? aside_.data() : out_.at(0));
      for (int i = 0; i < ranks_; ++i) await(i, sizeof(Post));
      break;
    default:
      for (int i = 0; i < ranks_; ++i) await(i, sizeof(Post));
      reduce_slice(own_, reduced_);
  }
  slots_.awaited_all();
}

// Reduces in cache-sized pieces. In place `to` is an operand.
void Direct::reduce_slice(const ElementRange& own, std::byte* to) {
  if (own.count == 0 || code_ != MPI_SUCCESS) return;
  std::byte* const scratch = slots_.scratch(2 * kPiece);
  const auto most = static_cast<MPI_Count>(kPiece) / size_;
  const bool over_own = to == in_.at(0, bytes_of(own.first));
  const bool onto_own = over_own && reduces_onto_own(), aside = over_own && !onto_own;
  const bool other_first = ranks_ == 2 && operation_.op->changes_places();
  for (MPI_Count at = 0; at < own.count; at += most) {
    const MPI_Count count = std::min(most, own.count - at);
    const size_t offset = bytes_of(own.first + at), bytes = bytes_of(count);
    std::byte* const sum = aside ? scratch + kPiece : to + bytes_of(at);
    bool begun = onto_own;
    for (int i = ranks_ - 1; i >= 0; --i) {
      const int rank = other_first ? (rank_ + i) % 2 : i;
      const bool mine = rank == rank_;
      if (mine && onto_own) continue;
      if (!mine) get(rank, begun ? scratch : sum, offset, bytes);
      if (mine && !begun) copy_bytes(sum, in_.at(0, offset), bytes);
      if (begun) apply(mine ? in_.at(0, offset) : scratch, sum, count);
      begun = true;
    }
    if (aside) copy_bytes(to + bytes_of(at), sum, bytes);
  }
}

void Direct::read_slices() {
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    const ElementRange part = slice(operation_.input.count, from);
    const size_t bytes = has_output() ? bytes_of(part.count) : 0;
    get(from, has_output() ? out_.at(0, bytes_of(part.first)) : nullptr, 0, bytes);
  }
  slots_.awaited_all();
}

void Direct::end() {
  for (int i = 1; i < ranks_; ++i) await((rank_ + i) % ranks_, 0);
  slots_.awaited_all();
  if (aside_.empty() || code_ != MPI_SUCCESS || !has_output()) return;
  if (operation_.collective == kReduceScatter) copy_bytes(out_.at(0), aside_.data(), aside_.size());
  if (reduced_ == aside_.data())
    copy_bytes(out_.at(0, bytes_of(own_.first)), aside_.data(), aside_.size());
}

int flat_direct(const Operation& operation, Slots& slots);
int flat_direct(const Operation& operation, Slots& slots) {
  Direct parts(operation, slots);
  parts.prepare();
  parts.run();
  return parts.code();
}

}  // namespace tern::coll
