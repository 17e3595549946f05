// SPDX-License-Identifier: Apache-2.0
#include "coll/flat/on_device.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "coll/flat/staged.hpp"
#include "core/datatype_device.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

bool spreads(Collective what) noexcept { return what == Collective::kAllreduce; }

bool fits(Collective what) noexcept {
  return spreads(what) || what == Collective::kReduce || what == Collective::kReduceScatter;
}

MPI_Count input_elements(const Operation& operation) noexcept {
  const Side& side = operation.input;
  if (operation.collective != Collective::kReduceScatter) return side.count;
  MPI_Count sum = 0;
  for (int i = 0; i < operation.communicator->size(); ++i)
    sum += side.counts == nullptr ? side.count : side.counts[i];
  return sum;
}

}  // namespace

OnDevice::OnDevice(const Operation& operation, Slots& slots, pml::Pml& pml)
    : operation_(operation),
      slots_(slots),
      pml_(pml),
      process_(operation.communicator->channel().process),
      rank_(slots.rank()),
      ranks_(slots.ranks()),
      posts_(static_cast<size_t>(ranks_)),
      inputs_(static_cast<size_t>(ranks_)),
      outputs_(static_cast<size_t>(ranks_)) {}

OnDevice::Met OnDevice::meet() {
  Post& mine = posts_[static_cast<size_t>(rank_)];
  mine.on_device = uses_device(operation_) ? 1 : 0;
  if (mine.on_device != 0 && fits(operation_.collective) && ranks_ <= cuda::kMostSources)
    prepare(mine);
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
  if (std::none_of(posts_.begin(), posts_.end(), on_device)) return Met::kHost;
  if (!all_fit()) return Met::kMessages;
  return agree(map_all()) ? Met::kTogether : Met::kMessages;
}

// Able: kernels know operation and type, and the other ranks can be told where the data is.
void OnDevice::prepare(Post& mine) {
  const Side& in = operation_.input;
  const Side& out = operation_.output;
  const bool writes = operation_.collective != Collective::kReduce || rank_ == operation_.root;
  core::Data input{in.address, input_elements(operation_), in.type};
  input.ask();
  if (!input.on_device() || !core::device_reduction(*operation_.op, *in.type)) return;
  int code = MPI_SUCCESS;
  job_ = core::begin_job(process_, input.first(), &code);
  if (code != MPI_SUCCESS || job_.device().kernels() == nullptr) return;
  if (!name(input, &mine.input)) return;
  if (writes) {
    core::Data output{out.address, spreads(operation_.collective) ? in.count : MPI_Count{1},
                      out.type};
    output.ask();
    const cuda::Memory memory = cuda::look_up(output.first());
    if (!output.on_device() || memory.device != job_.device().ordinal) return;
    job_.settle(memory);
    if (operation_.collective != Collective::kReduceScatter && !name(output, &mine.output)) return;
  }
  job_.mark();
  mine.leader = process_.params.cuda_reduce == "leader" ? 1 : 0;
  mine.able = job_.finish() ? 1 : 0;
}

bool OnDevice::name(const core::Data& data, pml::MemoryHandle* handle) {
  return pml_.offer(job_.device(), data.first(), data.bytes(), handle);
}

// One GPU: kernels read everything at its own rate, and need no peer access.
bool OnDevice::all_fit() const noexcept {
  return std::all_of(posts_.begin(), posts_.end(), [&](const Post& post) {
    return post.able != 0 && post.input.device == posts_.front().input.device;
  });
}

bool OnDevice::map_all() noexcept {
  for (int i = 0; i < ranks_; ++i) {
    if (i == rank_) continue;
    const auto at = static_cast<size_t>(i);
    inputs_[at] = pml_.map(posts_[at].input, job_.device());
    if (inputs_[at] == nullptr) return false;
    const bool written = spreads(operation_.collective) ||
                         (operation_.collective == Collective::kReduce && i == operation_.root);
    if (!written) continue;
    outputs_[at] = pml_.map(posts_[at].output, job_.device());
    if (outputs_[at] == nullptr) return false;
  }
  if (operation_.collective == Collective::kReduceScatter && operation_.in_place) {
    aside_ =
        cuda::Block(job_, static_cast<size_t>(own_range().count * operation_.input.type->size()));
    return aside_.valid();
  }
  return true;
}

bool OnDevice::agree(bool mine) {
  slots_.begin(name_of(operation_.collective));
  std::memcpy(slots_.claim(), &mine, sizeof mine);
  slots_.post(sizeof mine);
  bool all = mine;
  for (int i = 1; i < ranks_; ++i) {
    bool theirs = false;
    std::memcpy(&theirs, slots_.await((rank_ + i) % ranks_).data(), sizeof theirs);
    all &= theirs;
  }
  slots_.awaited_all();
  slots_.end();
  return all;
}

// Slices begin at multiples of a line; a leader has one slice, which is everything.
OnDevice::Range OnDevice::own_range() const noexcept {
  const Side& in = operation_.input;
  if (operation_.collective == Collective::kReduceScatter) {
    Range own{0, in.counts == nullptr ? in.count : in.counts[rank_]};
    for (int i = 0; i < rank_; ++i) own.first += in.counts == nullptr ? in.count : in.counts[i];
    return own;
  }
  if (posts_.front().leader != 0) return {0, rank_ == 0 ? in.count : 0};
  constexpr MPI_Count kGrain = 64;
  const auto begin = [&](int rank) {
    return rank == ranks_ ? in.count : in.count * rank / ranks_ / kGrain * kGrain;
  };
  return {begin(rank_), begin(rank_ + 1) - begin(rank_)};
}

std::byte* OnDevice::output_of(int rank) const noexcept {
  if (rank != rank_) return outputs_[static_cast<size_t>(rank)]->address;
  return static_cast<std::byte*>(operation_.output.address);
}

void OnDevice::reduce(const Range& range) noexcept {
  const core::Datatype& type = *operation_.input.type;
  const size_t offset = static_cast<size_t>(range.first * type.size());
  std::array<const void*, cuda::kMostSources> sources;
  for (int i = 0; i < ranks_; ++i) {
    const std::byte* const input = i == rank_
                                       ? static_cast<const std::byte*>(operation_.input.address)
                                       : inputs_[static_cast<size_t>(i)]->address;
    sources[static_cast<size_t>(i)] = input + offset;
  }
  std::byte* target = aside_.data();
  if (operation_.collective == Collective::kReduceScatter) {
    if (!aside_.valid()) target = static_cast<std::byte*>(operation_.output.address);
  } else {
    target = output_of(spreads(operation_.collective) ? rank_ : operation_.root) + offset;
  }
  const auto plan = core::device_reduction(*operation_.op, type);
  job_.mark();
  {
    const cuda::Current current(job_.device());
    job_.note("cuLaunchKernel", job_.device().kernels()->reduce(
                                    job_.stream(), plan->operation, plan->plan, sources.data(),
                                    ranks_, target, range.count * plan->elements));
  }
  if (spreads(operation_.collective)) spread(range, target);
}

// No other rank reads what is overwritten, in place either: a slice is read by its own rank alone.
void OnDevice::spread(const Range& range, const std::byte* result) noexcept {
  const size_t size = static_cast<size_t>(operation_.input.type->size());
  for (int i = 1; i < ranks_; ++i)
    job_.copy(output_of((rank_ + i) % ranks_) + static_cast<size_t>(range.first) * size, result,
              static_cast<size_t>(range.count) * size);
}

int OnDevice::run() {
  const Range own = own_range();
  if (own.count > 0) reduce(own);
  int code = MPI_SUCCESS;
  if (!job_.finish())
    code = fail(MPI_ERR_OTHER, "%s: reducing device memory failed: %s",
                name_of(operation_.collective), job_.failure().c_str());
  inputs_.clear();  // their owners may free them once all have ended
  outputs_.clear();
  code = end_together(code);
  if (code != MPI_SUCCESS || !aside_.valid()) return code;
  job_.copy(operation_.output.address, aside_.data(),
            static_cast<size_t>(own.count * operation_.input.type->size()));
  if (job_.finish()) return MPI_SUCCESS;
  return fail(MPI_ERR_OTHER, "%s: copying the result failed: %s", name_of(operation_.collective),
              job_.failure().c_str());
}

// A failure is everybody's.
int OnDevice::end_together(int code) {
  slots_.begin(name_of(operation_.collective));
  std::memcpy(slots_.claim(), &code, sizeof code);
  slots_.post(sizeof code);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    int theirs = MPI_SUCCESS;
    std::memcpy(&theirs, slots_.await(from).data(), sizeof theirs);
    if (theirs != MPI_SUCCESS && code == MPI_SUCCESS)
      code = fail(theirs, "%s: rank %d could not reduce its part of device memory",
                  name_of(operation_.collective), from);
  }
  slots_.awaited_all();
  slots_.end();
  return code;
}

}  // namespace tern::coll
