// SPDX-License-Identifier: Apache-2.0
// Collectives through an NVLink switch that reduces and replicates (NVLink SHARP, "NVLS"):
// allreduce, reduce-scatter, allgather, bcast.
// Why: a rank sends and receives a vector once, for any number of ranks. In a ring of many ranks
// each link carries a vector twice.
//
// Each rank has a stage, memory of equal layout with a multicast address, because user data has no
// multicast address. In each pass a thread block copies its share to the stage and meets the same
// block of all ranks. The block then reduces its rank's part through the switch and sends the
// result to all. After a second meeting the block reads the whole from its own stage.
//
//   allreduce        stage | own part: load the reduction, store to all | read
//   reduce_scatter   stage all blocks | own block: load the reduction |
//   allgather        | store the own block to all | read
//   bcast            | the root stores to all | read
//
// Two meetings suffice: other ranks store to a stage only between both. The owner, with packing and
// unpacking, writes before the first and reads after the second. Threads need no meeting between
// passes: each thread keeps the same part of the stage for a whole launch.
//
// At a meeting each rank sets its semaphore of the part to a growing number, so a waiter knows
// which rank is missing. No launch holds a number, so graphs can replay launches.
#pragma once

#include "cuda/kernels/multimem.cuh"
#include "cuda/kernels/wait.cuh"

namespace tern::cuda {
namespace {

/// Other ranks' writes before a meeting are visible after the meeting.
struct WordsInOrder {
  TERN_DEVICE static uint32_t load(const uint32_t* word) { return ptx::load_acquire_system(word); }
};

/// `Words`: like WordsInOrder.
template <class Words>
class Multicaster {
 public:
  TERN_DEVICE Multicaster(const MulticastArguments& arguments, PushShared& shared)
      : a_(arguments),
        shared_(shared),
        waiter_(arguments.bases, arguments.ranks, arguments.rank, arguments.abort_word,
                DEV(arguments.reports) + blockIdx.x, arguments.call, arguments.timeout,
                shared.wait),
        own_(DEV(arguments.own)) {}

  TERN_DEVICE void run() {
    auto* const number =
        reinterpret_cast<uint32_t*>(own_ + a_.numbers) + static_cast<int64_t>(blockIdx.x);
    if (threadIdx.x == 0) {
      waiter_.begin();
      shared_.passes = ptx::load_relaxed_system(number);
    }
    __syncthreads();
    number_ = static_cast<uint32_t>(shared_.passes);
    for (first_ = a_.begin; first_ < a_.end && !waiter_.left(); first_ += a_.room) run_pass();
    __syncthreads();
    if (threadIdx.x != 0 || waiter_.left()) return;
    waiter_.end();
    ptx::store_relaxed_system(number, number_);
  }

 private:
  TERN_DEVICE void run_pass() {
    const int64_t rest = a_.end - first_, count = rest < a_.room ? rest : a_.room;
    const int64_t each = (a_.room + gridDim.x - 1) / gridDim.x;
    begin_ = each * blockIdx.x < count ? each * blockIdx.x : count;
    end_ = begin_ + each < count ? begin_ + each : count;
    put_on_stage();
    if (!meet()) return;
    work();
    if (meet()) take();
  }

  TERN_DEVICE void put_on_stage() const {
    if (a_.input == nullptr) return;
    if (a_.what == MulticastArguments::kAllreduce) put_block(0);
    if (a_.what != MulticastArguments::kReduceScatter) return;
    for (int32_t block = 0; block < a_.ranks; ++block) put_block(block);
  }
  TERN_DEVICE void put_block(int32_t block) const {
    each_vector(
        begin_, end_, [&](int64_t i) { return load_own(block, i); },
        [&](int64_t i, const Vector& value) { ptx::store_peer(in(own_, block, i), value); });
  }

  TERN_DEVICE void work() const {
    char* const all = DEV(a_.all);
    const auto sum = [&](int32_t block) {
      return [&, block](int64_t i) { return multimem_reduce(a_.reduction, in(all, block, i)); };
    };
    const auto to_all = [&](int32_t block) {
      return
          [&, block](int64_t i, const Vector& value) { multimem_store(in(all, block, i), value); };
    };
    const auto given = [&](int32_t block) {
      return [&, block](int64_t i) {
        return a_.input == nullptr ? ptx::load_peer(in(own_, block, i)) : load_own(0, i);
      };
    };
    const int64_t count = end_ - begin_;
    switch (a_.what) {
      case MulticastArguments::kAllreduce:
        return each_vector(begin_ + count * a_.rank / a_.ranks,
                           begin_ + count * (a_.rank + 1) / a_.ranks, sum(0), to_all(0));
      case MulticastArguments::kReduceScatter:
        return each_vector(begin_, end_, sum(a_.rank), [&](int64_t i, const Vector& value) {
          if (a_.output == nullptr)
            ptx::store_peer(in(own_, a_.rank, i), value);
          else
            write(0, i, value);
        });
      case MulticastArguments::kAllgather:
        return each_vector(begin_, end_, given(a_.rank), to_all(a_.rank));
      default:
        if (a_.rank == a_.root) each_vector(begin_, end_, given(0), to_all(0));
    }
  }

  TERN_DEVICE void take() const {
    if (a_.output == nullptr || a_.what == MulticastArguments::kReduceScatter) return;
    const int32_t blocks = a_.what == MulticastArguments::kAllgather ? a_.ranks : 1;
    for (int32_t block = 0; block < blocks; ++block)
      each_vector(
          begin_, end_, [&](int64_t i) { return ptx::load_peer(in(own_, block, i)); },
          [&](int64_t i, const Vector& value) { write(block, i, value); });
  }

  /// Meets the same block of all ranks. Returns false if the block leaves.
  TERN_DEVICE bool meet() {
    ++number_;
    __syncthreads();
    const int64_t words = a_.words + int64_t{blockIdx.x} * kMostRanks * sizeof(uint32_t);
    if (threadIdx.x == 0) {
      // PTX, proxies: accesses through two addresses of a memory (multicast and own) are in
      // causality order only with an alias fence on the path. All paths of a meeting lead from a
      // barrier through this thread and the signal.
      ptx::fence_alias();
      multimem_signal(reinterpret_cast<uint32_t*>(DEV(a_.all) + words) + a_.rank, number_);
    }
    const auto* const mine = reinterpret_cast<const uint32_t*>(own_ + words);
    for (auto k = static_cast<int32_t>(threadIdx.x); k < a_.ranks;
         k += static_cast<int32_t>(blockDim.x))
      if (!await(mine + k, k)) break;
    __syncthreads();
    return !waiter_.left();
  }
  TERN_DEVICE bool await(const uint32_t* word, int32_t rank) {
    const auto what = [&] { return Awaited{rank, 0, 0, first_ / a_.room}; };
    unsigned polls = 0;
    uint64_t begun = 0;
    while (static_cast<int32_t>(Words::load(word) - number_) < 0)
      if (!waiter_.again(&polls, &begun, what)) return false;
    return true;
  }

  template <class Load, class Store>
  TERN_DEVICE static void each_vector(int64_t begin, int64_t end, const Load& load,
                                      const Store& store) {
    constexpr int kAtOnce = 4;
    const int64_t apart = blockDim.x;
    for (int64_t i = begin + threadIdx.x; i < end; i += kAtOnce * apart) {
      Vector values[kAtOnce];
      TERN_UNROLL
      for (int j = 0; j < kAtOnce; ++j)
        if (i + j * apart < end) values[j] = load(i + j * apart);
      TERN_UNROLL
      for (int j = 0; j < kAtOnce; ++j)
        if (i + j * apart < end) store(i + j * apart, values[j]);
    }
  }

  [[nodiscard]] TERN_DEVICE Vector* in(char* base, int32_t block, int64_t i) const {
    return reinterpret_cast<Vector*>(base + a_.stage) + block * a_.room + i;
  }
  [[nodiscard]] TERN_DEVICE int bytes_of(int64_t i) const {
    const int64_t rest = a_.bytes - (first_ + i) * 16;
    return rest < 16 ? static_cast<int>(rest) : 16;
  }
  [[nodiscard]] TERN_DEVICE Vector load_own(int32_t block, int64_t i) const {
    return load_some(DEV(a_.input) + block * a_.input_stride + (first_ + i) * 16, bytes_of(i));
  }
  TERN_DEVICE void write(int32_t block, int64_t i, const Vector& value) const {
    store_some(DEV(a_.output) + block * a_.output_stride + (first_ + i) * 16, value, bytes_of(i));
  }

  const MulticastArguments& a_;
  PushShared& shared_;
  Waiter waiter_;
  char* const own_;
  int64_t first_ = 0;
  int64_t begin_ = 0, end_ = 0;
  uint32_t number_ = 0;
};

}  // namespace
}  // namespace tern::cuda
