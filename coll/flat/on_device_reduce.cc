// SPDX-License-Identifier: Apache-2.0
// OnDevice: reductions. Each rank's kernel reduces a slice of all inputs and spreads the result.
#include <array>

#include "coll/flat/on_device.hpp"
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

bool OnDevice::prepare_reduction(Post* mine) {
  if (!fits(operation_.collective) || ranks_ > cuda::kMostSources) return false;
  const Side& in = operation_.input;
  const Side& out = operation_.output;
  const bool writes = operation_.collective != Collective::kReduce || rank_ == operation_.root;
  const core::Data input = core::with_kind({in.address, input_elements(operation_), in.type});
  mine->bytes = input.bytes();
  if (!input.on_device() || !core::device_reduction(*operation_.op, *in.type)) return false;
  if (!take(input) || job_.device().kernels() == nullptr ||
      !name(input.first(), input.bytes(), &mine->input))
    return false;
  if (!writes) return true;
  const core::Data output = core::with_kind(
      {out.address, spreads(operation_.collective) ? in.count : MPI_Count{1}, out.type});
  if (!output.on_device() || cuda::look_up(output.first()).device != job_.device().ordinal)
    return false;
  return take(output) && (operation_.collective == Collective::kReduceScatter ||
                          name(output.first(), output.bytes(), &mine->output));
}

// A leader reduces the whole vector.
ElementRange OnDevice::own_range() const noexcept {
  const Side& in = operation_.input;
  if (operation_.collective == Collective::kReduceScatter) {
    ElementRange own{0, in.counts == nullptr ? in.count : in.counts[rank_]};
    for (int i = 0; i < rank_; ++i) own.first += in.counts == nullptr ? in.count : in.counts[i];
    return own;
  }
  if (posts_.front().leader != 0) return {0, rank_ == 0 ? in.count : 0};
  return slice(rank_, in.count);
}

void OnDevice::reduce(const ElementRange& range) noexcept {
  const core::Datatype& type = *operation_.input.type;
  const size_t offset = static_cast<size_t>(range.first * type.size());
  std::array<const void*, cuda::kMostSources> sources;
  for (int i = 0; i < ranks_; ++i)
    sources[static_cast<size_t>(i)] = (i == rank_ ? in_.at(0) : input_of(i)) + offset;
  std::byte* target = aside_.data();
  if (operation_.collective == Collective::kReduceScatter) {
    if (!aside_.valid()) target = out_.at(0);
  } else {
    target = output_of(spreads(operation_.collective) ? rank_ : operation_.root) + offset;
  }
  // A slice is read by its own rank alone, so the result may replace inputs.
  std::array<void*, cuda::kMostSources> others;
  size_t also = 0;
  for (int i = 1; spreads(operation_.collective) && i < ranks_; ++i)
    others[also++] = output_of((rank_ + i) % ranks_) + offset;
  const auto plan = core::device_reduction(*operation_.op, type);
  job_.mark();
  if (job_.failed()) return;
  const cuda::Current current(job_.device());
  job_.note("cuLaunchKernel",
            job_.device().kernels()->reduce(job_.stream(), plan->operation, plan->plan,
                                            sources.data(), ranks_, target,
                                            range.count * plan->elements, {others.data(), also}));
}

}  // namespace tern::coll
