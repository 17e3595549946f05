// SPDX-License-Identifier: Apache-2.0
// Collectives of one hop: each rank pushes its data to all others as LL words, and makes the result
// of what has come: the sum in rank order (the same bits on all ranks), the blocks one behind the
// other, or nothing (a barrier).
// Why beside the interpreter: a small vector is there after one trip, without credits, signals or
// barriers in between, and without a program on the device.
//
// Each block of threads is on its own: it has its share of the data, of the slots and its counter
// of passes, and hears from the blocks of its number. A pass has a number, from which come its flag
// and which of two sets of slots it uses. A set is written again two passes later: the rank that
// does so has heard in between from all ranks, each of which had read the earlier pass to its end.
// Nothing is baked into a launch, so a graph replays it. Flags repeat after 2^32 passes. So every
// 2^24 passes two use the whole slots: what is older is gone by then. See: wait.cuh;
// coll/gpu/push_run.hpp (launches), tests/unit/cuda/push_kernel_test.cc.
#pragma once

#include "cuda/kernels/ll.cuh"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/wait.cuh"

namespace tern::cuda {
namespace {

template <class Flags>
class Pusher {
 public:
  TERN_DEVICE Pusher(const PushArguments& arguments, PushShared& shared)
      : a_(arguments),
        shared_(shared),
        waiter_(arguments.bases, arguments.ranks, arguments.rank, arguments.abort_word,
                DEV(arguments.reports) + blockIdx.x, arguments.call, arguments.patience,
                shared.wait) {
    const int64_t all = (a_.bytes + 15) / 16, vectors = all > 0 ? all : 1;
    const int64_t each = (vectors + gridDim.x - 1) / gridDim.x;
    begin_ = each * blockIdx.x < vectors ? each * blockIdx.x : vectors;
    end_ = begin_ + each < vectors ? begin_ + each : vectors;
  }

  TERN_DEVICE void run() {
    auto* const counter = reinterpret_cast<uint64_t*>(
        DEV(const_cast<char*>(a_.bases[a_.rank]) + a_.counters) + blockIdx.x * sizeof(uint64_t));
    if (threadIdx.x == 0) {
      waiter_.begin();
      shared_.passes = ptx::load_relaxed_system(counter);
      if (a_.what == PushArguments::kBarrier) ptx::fence_system();
    }
    __syncthreads();
    number_ = shared_.passes;
    for (first_ = begin_; first_ < end_ && !waiter_.left(); first_ += a_.room) {
      ++number_;
      run_pass();
      __syncthreads();
    }
    if (threadIdx.x != 0 || waiter_.left()) return;
    waiter_.end();
    ptx::store_relaxed_system(counter, number_);
    if (a_.what == PushArguments::kBarrier) ptx::fence_system();
  }

  template <class T, class... Operations>
  TERN_DEVICE void sum() {
    static_assert(sizeof(Vector) % sizeof(T) == 0);
    for (int64_t i = threadIdx.x; i < count_; i += blockDim.x) {
      Vector sum{};
      for (int32_t k = a_.ranks - 1; k >= 0; --k) {
        Vector value{};
        if (k == a_.rank)
          value = own(i);
        else if (!receive(k, i, &value))
          return;
        if (k == a_.ranks - 1)
          sum = value;
        else
          apply<1, T, Operations...>(a_.operation, &value, &sum);
      }
      write(0, i, sum);
    }
  }

 private:
  TERN_DEVICE void run_pass() {
    flag_ = static_cast<uint32_t>(number_ % ~uint32_t{0}) + 1;
    const int64_t rest = end_ - first_;
    const bool whole = (number_ & a_.refresh) < 2;
    count_ = whole || rest > a_.room ? a_.room : rest;
    push();
    if (a_.what == PushArguments::kReduce)
      sum_by(a_.kernel, *this);
    else
      gather();
  }

  // Round the ring, so that not all push to one rank at once.
  TERN_DEVICE void push() {
    for (int64_t i = threadIdx.x; i < count_; i += blockDim.x) {
      const Vector value = own(i);
      for (int32_t k = 1; k < a_.ranks; ++k) {
        const int32_t to = a_.rank + k < a_.ranks ? a_.rank + k : a_.rank + k - a_.ranks;
        slot(to, a_.rank).put(i, value, flag_);
      }
    }
  }

  TERN_DEVICE void gather() {
    for (int64_t i = threadIdx.x; i < count_; i += blockDim.x)
      for (int32_t k = 0; k < a_.ranks; ++k) {
        Vector value{};
        if (k == a_.rank)
          value = own(i);
        else if (!receive(k, i, &value))
          return;
        write(k, i, value);
      }
  }

  TERN_DEVICE bool receive(int32_t from, int64_t i, Vector* value) {
    const LlSlot<Flags> mine = slot(a_.rank, from);
    const auto what = [&] { return Awaited{from, 0, 0, static_cast<int64_t>(number_)}; };
    unsigned polls = 0;
    uint64_t begun = 0;
    while (!mine.get(i, flag_, value))
      if (!waiter_.again(&polls, &begun, what)) return false;
    return true;
  }

  /// In the scratch of `owner`.
  [[nodiscard]] TERN_DEVICE LlSlot<Flags> slot(int32_t owner, int32_t from) const {
    const auto set = static_cast<int64_t>(number_ & 1);
    const int64_t before = ((set * a_.ranks + from) * a_.parts + blockIdx.x) * a_.room;
    char* const at = DEV(const_cast<char*>(a_.bases[owner]) + a_.words) + before * kLlBytes;
    return {reinterpret_cast<uint64_t*>(at), a_.room};
  }

  /// Bytes of the share's vector `i` that are data; the rest of a pass is only flags.
  [[nodiscard]] TERN_DEVICE int bytes_of(int64_t i) const {
    if (first_ + i >= end_) return 0;
    const int64_t rest = a_.bytes - (first_ + i) * 16;
    return rest < 0 ? 0 : rest < 16 ? static_cast<int>(rest) : 16;
  }
  [[nodiscard]] TERN_DEVICE Vector own(int64_t i) const {
    const int bytes = bytes_of(i);
    return bytes == 0 ? Vector{} : load_some(DEV(a_.input) + (first_ + i) * 16, bytes);
  }
  TERN_DEVICE void write(int32_t block, int64_t i, const Vector& value) const {
    const int bytes = bytes_of(i);
    if (bytes > 0) store_some(DEV(a_.output) + block * a_.stride + (first_ + i) * 16, value, bytes);
  }

  const PushArguments& a_;
  PushShared& shared_;
  Waiter waiter_;
  int64_t begin_ = 0, end_ = 0;    // the block's share, in vectors
  int64_t first_ = 0, count_ = 0;  // of a pass
  uint64_t number_ = 0;
  uint32_t flag_ = 0;
};

template <class Pusher, class T, class... Operations>
TERN_DEVICE_CALL void sum_alone(Pusher& pusher) {
  pusher.template sum<T, Operations...>();
}

template <class Pusher>
TERN_DEVICE void sum_by(int32_t kernel, Pusher& pusher) {
  switch (static_cast<ReduceNumber>(kernel)) {
#define TERN_CASE(suffix, type, ...) \
  case ReduceNumber::suffix:         \
    return sum_alone<Pusher, type, __VA_ARGS__>(pusher);
    TERN_REDUCE_KERNELS(TERN_CASE)
#undef TERN_CASE
  }
}

}  // namespace
}  // namespace tern::cuda
