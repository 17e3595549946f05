// SPDX-License-Identifier: Apache-2.0
// OnDevice: data movement. In a large broadcast each rank copies a slice from the root and the
// other slices from peers, to relieve the root's link.
#include "coll/flat/on_device.hpp"
#include "mpi.h"

namespace tern::coll {

using enum Collective;

namespace {

bool moves_whole(Collective what) noexcept {
  return what == kBcast || what == kScatter || what == kGather || what == kAllgather ||
         what == kAlltoall;
}

}  // namespace

bool OnDevice::takes(Collective what) noexcept {
  return moves_whole(what) || what == kAllreduce || what == kReduce || what == kReduceScatter;
}

OnDevice::Sides OnDevice::sides() const noexcept {
  const bool root = rank_ == operation_.root, in_place = operation_.in_place;
  switch (operation_.collective) {
    case kBcast:
      return {false, true, 0, 1};
    case kScatter:
      return {root, !in_place, ranks_, 1};
    case kGather:
      return {!in_place, root, 1, ranks_};
    case kAllgather:
      return {!in_place, true, 1, ranks_};
    default:
      return {true, true, ranks_, ranks_};
  }
}

// Only contiguous data qualifies. An alltoall in place would need a copy.
bool OnDevice::prepare_moves(Post* mine) {
  const Collective what = operation_.collective;
  if (!moves_whole(what) || (what == kAlltoall && operation_.in_place)) return false;
  const Sides own = sides();
  const Side& in = operation_.input;
  const Side& out = operation_.output;
  mine->bytes = own.writes ? out_.bytes() : in_.bytes();
  if (own.reads && !(own.in_blocks == 1 ? in_.dense() : in_.adjacent())) return false;
  if (own.writes && !out_.dense()) return false;
  if (own.reads && !take(core::with_kind({in.address, in.count * own.in_blocks, in.type})))
    return false;
  if (own.writes && !take(core::with_kind({out.address, out.count * own.out_blocks, out.type})))
    return false;
  mine->input.device = job_.device().uuid;
  return name_for_others(own, mine);
}

bool OnDevice::name_for_others(const Sides& own, Post* mine) {
  const bool root = rank_ == operation_.root;
  switch (operation_.collective) {
    case kBcast:
      return name(out_.at(0), out_.bytes(), root ? &mine->input : &mine->output);
    case kGather:
      return root || name(in_.at(0), in_.bytes(), &mine->input);
    case kAllgather:
      return own.reads ? name(in_.at(0), in_.bytes(), &mine->input)
                       : name(out_.at(rank_), out_.bytes(), &mine->input);
    default:
      return !own.reads ||
             name(in_.at(0), in_.bytes() * static_cast<size_t>(own.in_blocks), &mine->input);
  }
}

bool OnDevice::hands_on() const noexcept {
  constexpr uint64_t kLeast = 1 << 20;  // bytes; makes up for an epoch
  return operation_.collective == kBcast && ranks_ > 2 && out_.bytes() >= kLeast && !shares_one();
}

void OnDevice::move() noexcept {
  const int root = operation_.root;
  const size_t bytes = out_.bytes();
  switch (operation_.collective) {
    case kBcast: {
      if (rank_ == root) return;
      if (!hands_on()) return job_.copy(out_.at(0), input_of(root), bytes);
      const ElementRange own = slice(rank_, static_cast<MPI_Count>(bytes));
      const auto first = static_cast<size_t>(own.first);
      return job_.copy(out_.at(0, first), input_of(root) + first, static_cast<size_t>(own.count));
    }
    case kScatter: {
      if (operation_.in_place) return;  // the root's
      const auto first = static_cast<size_t>(rank_) * bytes;
      return job_.copy(out_.at(0), rank_ == root ? in_.at(0, first) : input_of(root) + first,
                       bytes);
    }
    case kGather:
      if (rank_ != root) return;
      break;
    default:
      break;
  }
  const bool exchanges = operation_.collective == kAlltoall;
  for (int i = 0; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    if (i == 0 && operation_.in_place) continue;
    const std::byte* const block = from == rank_ ? in_.at(0) : input_of(from);
    job_.copy(out_.at(from), block + (exchanges ? static_cast<size_t>(rank_) * bytes : 0), bytes);
  }
}

void OnDevice::move_slices() noexcept {
  const int root = operation_.root;
  if (rank_ == root) return;
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    const ElementRange part = slice(from, static_cast<MPI_Count>(out_.bytes()));
    const auto first = static_cast<size_t>(part.first);
    const std::byte* const there = from == root ? input_of(root) : output_of(from);
    job_.copy(out_.at(0, first), there + first, static_cast<size_t>(part.count));
  }
}

}  // namespace tern::coll
