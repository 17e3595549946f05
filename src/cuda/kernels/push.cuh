// SPDX-License-Identifier: Apache-2.0
// One-hop collectives: each rank pushes packets (LL or LL128) to its peers and builds the result
// from arriving packets: the sum in rank order (the same bits on all ranks; for a scan, of lower
// ranks), blocks, or nothing (a barrier). Allreduce may take two hops: each owner then sends the
// reduced part to all.
// Why beside the interpreter: a small vector takes a single trip, without credits, signals,
// barriers or a program.
//
// Each thread block has a share of data and slots and a pass counter, and talks to the same block
// of other ranks. The pass number determines flags and the set of slots. In each pass each rank
// writes to each peer, data or an empty vector; the packet also tells that the writer's earlier
// passes are done. A set is reused two passes later, after the writer has heard from all ranks
// about the pass in between: during that pass if data came from all, else before writing (kOwes in
// the counter).
//
// A launch holds no pass number, so graphs can replay launches. LL flags repeat after 2^32 passes;
// to erase old flags, two of every 2^24 passes write whole slots.
//
// A wire defines the turns in which threads take vectors. LL threads are independent; LL128 warps
// act together and agree in all(). Each wire has separate slots and counters.
// See: wait.cuh; coll/gpu/push_run.hpp (launches), tests/unit/cuda/push_kernel_test.cc.
#pragma once

#include "cuda/kernels/ll.cuh"
#include "cuda/kernels/ll128.cuh"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/wait.cuh"

namespace tern::cuda {
namespace {

/// value (op) sum. Not inlined: the code for all types is large.
TERN_DEVICE_CALL Vector combine(int32_t kernel, int32_t operation, Vector value, Vector sum) {
  switch (static_cast<ReduceNumber>(kernel)) {
#define TERN_CASE(suffix, type, ...)                      \
  case ReduceNumber::suffix:                              \
    static_assert(sizeof(Vector) % sizeof(type) == 0);    \
    apply<1, type, __VA_ARGS__>(operation, &value, &sum); \
    break;
    TERN_REDUCE_KERNELS(TERN_CASE)
#undef TERN_CASE
  }
  return sum;
}

/// `Wire`: like LlWire.
template <class Wire>
class Pusher {
  using Turn = typename Wire::Turn;
  using Slot = typename Wire::Slot;

 public:
  TERN_DEVICE Pusher(const PushArguments& arguments, PushShared& shared)
      : a_(arguments),
        shared_(shared),
        waiter_(arguments.bases, arguments.ranks, arguments.rank, arguments.abort_word,
                DEV(arguments.reports) + blockIdx.x, arguments.call, arguments.timeout,
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
      // PTX, release pattern: this fence and the later store of a packet order writes of earlier
      // stream commands before the packet, for all devices.
      if (a_.what == PushArguments::kBarrier) ptx::fence_system();
    }
    __syncthreads();
    number_ = shared_.passes & ~kOwes;
    owes_ = (shared_.passes & kOwes) != 0;
    for (first_ = begin_; first_ < end_ && stays(); first_ += a_.room) {
      run_pass();
      __syncthreads();
    }
    if (threadIdx.x != 0 || waiter_.left()) return;
    waiter_.end();
    ptx::store_relaxed_system(counter, number_ | (owes_ ? kOwes : 0));
    // PTX, acquire pattern: the earlier load of a packet and this fence order the peer's data
    // before reads of later stream commands.
    if (a_.what == PushArguments::kBarrier) ptx::fence_system();
  }

 private:
  static constexpr uint64_t kOwes = uint64_t{1} << 63;  // must hear of the last pass from all

  TERN_DEVICE void run_pass() {
    const int64_t rest = end_ - first_;
    count_ = rest > a_.room ? a_.room : rest;
    ++number_;
    if (owes_) {
      hear_from_all(number_ - 1);
      __syncthreads();
      if (!stays()) return;
    }
    push();
    fill(a_.to);
    if (a_.what == PushArguments::kReduce)
      reduce();
    else
      copy();
    owes_ = a_.from != PushArguments::kAllRanks;
    if (a_.spread != 0) spread();
  }

  /// Second hop of an allreduce: receives the reduced parts. A sender of a part has read all data
  /// of the previous pass; fill() waits until all threads know this.
  TERN_DEVICE void spread() {
    ++number_;
    copy();
    __syncthreads();
    fill(PushArguments::kAllRanks);
  }

  TERN_DEVICE void hear_from_all(uint64_t number) {
    const auto threads = static_cast<int32_t>(blockDim.x);
    for (auto k = static_cast<int32_t>(threadIdx.x); k < a_.ranks; k += threads) {
      if (k == a_.rank) continue;
      const Slot mine = slot(number, a_.rank, k);
      const auto what = [&] { return awaited(number, k, Instruction::kCredit); };
      unsigned polls = 0;
      uint64_t begun = 0;
      while (!mine.has_begun(Wire::flag_of(number)))
        if (!waiter_.again(&polls, &begun, what)) return;
    }
  }

  // In ring order, so that ranks do not all push to the same peer.
  template <class Action>
  TERN_DEVICE void for_others(const Action& action) const {
    for (int32_t k = 1; k < a_.ranks; ++k)
      action(a_.rank + k < a_.ranks ? a_.rank + k : a_.rank + k - a_.ranks);
  }
  [[nodiscard]] TERN_DEVICE bool is_among(int32_t rank, int32_t some) const {
    return some == PushArguments::kAllRanks || some == rank ||
           (some == PushArguments::kAbove && rank > a_.rank);
  }

  TERN_DEVICE void push() {
    if (a_.to == PushArguments::kNoRank) return;
    const bool is_one = a_.input_stride == 0 && a_.tabled != PushArguments::kInput;
    for (Turn turn(0); turn.begin() < count_; turn.next()) {
      Vector value{};
      if (is_one) value = load_own(a_.rank, turn);
      for_others([&](int32_t to) {
        if (!is_among(to, a_.to)) return;
        if (!is_one) value = load_own(to, turn);
        put(number_, to, turn, value);
      });
    }
  }

  /// Pushes packets without data: to peers without data, and whole slots when flags are refreshed.
  TERN_DEVICE void fill(int32_t with_data) {
    const bool whole = Wire::kRepeats && (number_ & a_.refresh) < 2;
    for_others([&](int32_t to) {
      const bool has_data = is_among(to, with_data);
      const int64_t end = whole ? a_.room : has_data ? 0 : 1;
      for (Turn turn(has_data ? count_ : 0); turn.begin() < end; turn.next())
        put(number_, to, turn, Vector{});
    });
  }

  TERN_DEVICE void reduce() {
    if (a_.from == PushArguments::kNoRank) return;
    for (Turn turn(0); turn.begin() < count_; turn.next()) {
      Vector sum{};
      for (int32_t k = a_.last; k >= 0; --k) {
        Vector value{};
        if (k == a_.rank)
          value = load_own(k, turn);
        else if (!receive(number_, k, turn, &value))
          return;
        sum = k == a_.last ? value : combine(a_.kernel, a_.operation, value, sum);
      }
      write(a_.rank, turn, sum);
      if (a_.spread != 0) for_others([&](int32_t to) { put(number_ + 1, to, turn, sum); });
    }
  }

  TERN_DEVICE void copy() {
    const bool keeps = a_.input != nullptr && a_.output != nullptr && a_.spread == 0;
    const bool many = a_.from == PushArguments::kAllRanks;
    const int32_t begin = many ? 0 : a_.from, end = many ? a_.ranks : a_.from + 1;
    for (Turn turn(0); turn.begin() < count_; turn.next()) {
      if (keeps) write(a_.rank, turn, load_own(a_.rank, turn));
      for (int32_t k = begin; k < end; ++k) {
        Vector value{};
        if (k < 0 || k == a_.rank) continue;
        if (!receive(number_, k, turn, &value)) return;
        write(k, turn, value);
      }
    }
  }

  TERN_DEVICE void put(uint64_t number, int32_t to, const Turn& turn, const Vector& value) const {
    slot(number, to, a_.rank).put(turn, value, Wire::flag_of(number));
  }
  /// Returns false if the block leaves; the same in all threads that must stay together.
  TERN_DEVICE bool receive(uint64_t number, int32_t from, const Turn& turn, Vector* value) {
    const Slot mine = slot(number, a_.rank, from);
    const auto what = [&] { return awaited(number, from, 0); };
    unsigned polls = 0;
    uint64_t begun = 0;
    while (!mine.get(turn, Wire::flag_of(number), value))
      if (!Wire::all(!Wire::is_first() || waiter_.again(&polls, &begun, what))) return false;
    return true;
  }
  [[nodiscard]] TERN_DEVICE static Awaited awaited(uint64_t number, int32_t from, int32_t message) {
    return {from, message, 0, static_cast<int64_t>(number)};
  }
  [[nodiscard]] TERN_DEVICE bool stays() const { return Wire::all(!waiter_.left()); }

  [[nodiscard]] TERN_DEVICE Slot slot(uint64_t number, int32_t owner, int32_t from) const {
    const auto set = static_cast<int64_t>(number & 1);
    const int64_t before = (set * a_.ranks + from) * a_.parts + blockIdx.x;
    char* const at = DEV(const_cast<char*>(a_.bases[owner]) + a_.words);
    return Slot(at + before * Wire::bytes_of(a_.room), a_.room);
  }

  [[nodiscard]] TERN_DEVICE int bytes_of(int32_t block, int64_t i) const {
    const int64_t before = (first_ + i) * 16;
    const int64_t length = a_.tabled == PushArguments::kNone ? a_.bytes : a_.table[block].length;
    const int64_t in_block = length - before;
    const int64_t in_all = a_.spread != 0 ? a_.total - block * a_.input_stride - before : in_block;
    const int64_t rest = in_block < in_all ? in_block : in_all;
    return rest < 0 ? 0 : rest < 16 ? static_cast<int>(rest) : 16;
  }
  [[nodiscard]] TERN_DEVICE int64_t offset_of(int32_t block, PushArguments::Tabled side,
                                              int64_t stride) const {
    return a_.tabled == side ? a_.table[block].offset : block * stride;
  }
  [[nodiscard]] TERN_DEVICE Vector load_own(int32_t block, const Turn& turn) const {
    const int64_t i = turn.vector();
    const int bytes = turn.has_one_of(count_) ? bytes_of(block, i) : 0;
    return bytes == 0 ? Vector{}
                      : load_some(DEV(a_.input) +
                                      offset_of(block, PushArguments::kInput, a_.input_stride) +
                                      (first_ + i) * 16,
                                  bytes);
  }
  TERN_DEVICE void write(int32_t block, const Turn& turn, const Vector& value) const {
    const int64_t i = turn.vector();
    const int bytes = turn.has_one_of(count_) ? bytes_of(block, i) : 0;
    if (bytes > 0)
      store_some(DEV(a_.output) + offset_of(block, PushArguments::kOutput, a_.output_stride) +
                     (first_ + i) * 16,
                 value, bytes);
  }

  const PushArguments& a_;
  PushShared& shared_;
  Waiter waiter_;
  int64_t begin_ = 0, end_ = 0;
  int64_t first_ = 0, count_ = 0;
  uint64_t number_ = 0;
  bool owes_ = false;
};

}  // namespace
}  // namespace tern::cuda
