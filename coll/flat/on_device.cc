// SPDX-License-Identifier: Apache-2.0
// OnDevice: set-up and end. The work: on_device_reduce.cc, on_device_move.cc.
#include "coll/flat/on_device.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/staged.hpp"
#include "core/allocations.hpp"
#include "mpi.h"

namespace tern::coll {

using enum Collective;

OnDevice::OnDevice(const Operation& operation, Slots& slots, pml::Pml& pml, DeviceLinks& links)
    : operation_(operation),
      slots_(slots),
      pml_(pml),
      links_(links),
      process_(operation.communicator->channel().process),
      rank_(slots.rank()),
      ranks_(slots.ranks()),
      in_(operation.input),
      out_(operation.output),
      posts_(static_cast<size_t>(ranks_)),
      inputs_(static_cast<size_t>(ranks_)),
      outputs_(static_cast<size_t>(ranks_)) {}

Where OnDevice::meet() {
  Post& mine = posts_[static_cast<size_t>(rank_)];
  mine.on_device = uses_device(operation_) ? 1 : 0;
  if (mine.on_device != 0) mine.able = prepare(&mine) ? 1 : 0;
  slots_.begin(name_of(operation_.collective));
  std::memcpy(slots_.claim(), &mine, sizeof mine);
  slots_.post(sizeof mine);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    std::memcpy(&posts_[static_cast<size_t>(from)], slots_.await(from).data(), sizeof mine);
  }
  slots_.awaited_all();
  slots_.end();
  const auto on_device = [](const Post& post) { return post.on_device != 0; };
  if (std::none_of(posts_.begin(), posts_.end(), on_device)) return Where::kHost;
  if (!all_fit()) return Where::kSome;
  const Agreed agreed = agree(map_all());
  if (!agreed.all) return Where::kSome;
  return agreed.tried || try_links() ? Where::kAll : Where::kSome;
}

// True if all data of this rank lies on the device and has memory handles.
bool OnDevice::prepare(Post* mine) {
  mine->leader = process_.params.cuda_reduce == SharedReduction::kLeader ? 1 : 0;
  return (moves() ? prepare_moves(mine) : prepare_reduction(mine)) && job_.finish();
}

bool OnDevice::take(const core::Data& data) {
  if (!data.on_device()) return false;
  if (job_.stream() != nullptr) {
    core::settle(job_, data);
    return true;
  }
  Failure why;
  job_ = core::begin_job(process_, data, &why);
  return !why;
}

bool OnDevice::name(const void* address, size_t bytes, pml::MemoryHandle* handle) {
  handle->device = job_.device().uuid;
  return pml_.offer(job_.device(), address, bytes, handle);
}

bool OnDevice::all_fit() const noexcept {
  return std::all_of(posts_.begin(), posts_.end(), [&](const Post& post) {
    return post.able != 0 && post.bytes == posts_.front().bytes;
  });
}

bool OnDevice::shares_one() const noexcept {
  return std::all_of(posts_.begin(), posts_.end(), [&](const Post& post) {
    return post.input.device == posts_.front().input.device;
  });
}

bool OnDevice::needs_input(int rank) const noexcept {
  const int root = operation_.root;
  switch (operation_.collective) {
    case kBcast:
    case kScatter:
      return rank == root;
    case kGather:
      return rank_ == root;
    default:
      return true;
  }
}

bool OnDevice::needs_output(int rank) const noexcept {
  switch (operation_.collective) {
    case kAllreduce:
      return true;
    case kReduce:
      return rank == operation_.root;
    case kBcast:
      return hands_on() && rank != operation_.root;
    default:
      return false;
  }
}

bool OnDevice::map_one(int rank) noexcept {
  const auto at = static_cast<size_t>(rank);
  if (links_.between(job_.device().uuid, posts_[at].input.device) == DeviceLinks::State::kBad)
    return false;
  if (needs_input(rank)) inputs_[at] = pml_.map(posts_[at].input, job_.device());
  if (needs_output(rank)) outputs_[at] = pml_.map(posts_[at].output, job_.device());
  return (!needs_input(rank) || inputs_[at] != nullptr) &&
         (!needs_output(rank) || outputs_[at] != nullptr);
}

bool OnDevice::map_all() noexcept {
  bool all = true;
  for (int i = 0; i < ranks_; ++i) {
    const bool reached = i == rank_ || map_one(i);
    all &= reached;
    if (i < kMostInIslands)
      reached_[static_cast<size_t>(i / 64)] |= uint64_t{reached ? 1U : 0U} << (i % 64);
  }
  if (all && operation_.collective == kReduceScatter && operation_.in_place) {
    aside_ =
        cuda::Block(job_, static_cast<size_t>(own_range().count * operation_.input.type->size()));
    return aside_.valid();
  }
  return all;
}

OnDevice::Agreed OnDevice::agree(bool mine) {
  Agreed agreed{mine, true, reached_};
  for (const Post& post : posts_)
    agreed.tried &=
        links_.between(job_.device().uuid, post.input.device) != DeviceLinks::State::kUntried;
  topo::Reach reach(ranks_ <= kMostInIslands ? ranks_ : 0);
  const auto note = [&](int from, const Agreed& of) {
    for (int to = 0; to < reach.count(); ++to)
      reach.set(from, to, (of.reached[static_cast<size_t>(to / 64)] >> (to % 64) & 1) != 0);
  };
  note(rank_, agreed);
  slots_.begin(name_of(operation_.collective));
  std::memcpy(slots_.claim(), &agreed, sizeof agreed);
  slots_.post(sizeof agreed);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    Agreed theirs{};
    std::memcpy(&theirs, slots_.await(from).data(), sizeof theirs);
    agreed.all &= theirs.all;
    agreed.tried &= theirs.tried;
    note(from, theirs);
  }
  slots_.awaited_all();
  slots_.end();
  if (!agreed.all && all_read_all(operation_.collective) && reach.count() > 0) find_islands(reach);
  return agreed;
}

void OnDevice::find_islands(const topo::Reach& reach) {
  std::vector<int64_t> islands, sharing;
  for (const int island : topo::islands_of(reach)) islands.push_back(island);
  for (const Post& post : posts_) {
    int first = 0;
    while (!(post_of(first).input.device == post.input.device)) ++first;
    sharing.push_back(first);
  }
  islands_ = {std::move(islands), std::move(sharing)};
}

bool OnDevice::try_links() {
  std::vector<cuda::Uuid> devices;
  for (const Post& post : posts_) devices.push_back(post.input.device);
  const bool good = links_.try_all(process_, slots_, pml_, job_, devices);
  const bool bad = std::any_of(devices.begin(), devices.end(), [&](const cuda::Uuid& one) {
    return links_.between(job_.device().uuid, one) == DeviceLinks::State::kBad;
  });
  if (bad)
    process_.gpus.tell_fallback(
        process_.explain,
        "devices of ranks map each other's memory, but reads return wrong data: "
        "collectives of device memory take messages");
  return agree(good).all;
}

const std::byte* OnDevice::input_of(int rank) const noexcept {
  return inputs_[static_cast<size_t>(rank)]->address;
}

std::byte* OnDevice::output_of(int rank) const noexcept {
  return rank == rank_ ? out_.at(0) : outputs_[static_cast<size_t>(rank)]->address;
}

// Slices begin at multiples of a cache line.
ElementRange OnDevice::slice(int rank, MPI_Count count) const noexcept {
  constexpr MPI_Count kGrain = 64;
  const auto begin = [&](int of) {
    return of == ranks_ ? count : count * of / ranks_ / kGrain * kGrain;
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

int OnDevice::run() {
  work();
  int code = end_phase(MPI_SUCCESS);
  if (hands_on() && code == MPI_SUCCESS) {
    move_slices();
    code = end_phase(code);
  }
  inputs_.clear();
  outputs_.clear();
  if (code != MPI_SUCCESS || !aside_.valid()) return code;
  job_.copy(operation_.output.address, aside_.data(),
            static_cast<size_t>(own_range().count * operation_.input.type->size()));
  if (job_.finish()) return MPI_SUCCESS;
  return fail(MPI_ERR_OTHER, "%s: copying the result failed: %s", name_of(operation_.collective),
              job_.failure().c_str());
}

void OnDevice::work() {
  if (moves()) return move();
  const ElementRange own = own_range();
  if (own.count > 0) reduce(own);
}

// After end_phase() owners may free the mapped buffers.
int OnDevice::end_phase(int code) {
  if (!job_.finish() && code == MPI_SUCCESS)
    code = fail(MPI_ERR_OTHER, "%s: %s device memory failed: %s", name_of(operation_.collective),
                moves() ? "copying" : "reducing", job_.failure().c_str());
  return end_together(code);
}

int OnDevice::end_together(int code) {
  slots_.begin(name_of(operation_.collective));
  std::memcpy(slots_.claim(), &code, sizeof code);
  slots_.post(sizeof code);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    int theirs = MPI_SUCCESS;
    std::memcpy(&theirs, slots_.await(from).data(), sizeof theirs);
    if (theirs != MPI_SUCCESS && code == MPI_SUCCESS)
      code = fail(theirs, "%s: rank %d could not %s its part of device memory",
                  name_of(operation_.collective), from, moves() ? "copy" : "reduce");
  }
  slots_.awaited_all();
  slots_.end();
  return code;
}

}  // namespace tern::coll
