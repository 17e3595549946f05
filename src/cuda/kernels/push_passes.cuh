// SPDX-License-Identifier: Apache-2.0
// PushPasses: the passes of a push kernel, for any wire: shares of thread blocks, pass numbers, the
// caller's data. Push kernels run collectives of one hop: each rank pushes data to its peers and
// builds the result from arriving data: the sum in rank order (the same bits on all ranks; for a
// scan, of lower ranks), blocks, or nothing (a barrier). Allreduce and bcast may take two hops:
// each owner then sends its part, reduced or from the root, to all.
//
// Why beside the interpreter: a vector takes a single trip, without credits and without a program.
//
// Each thread block has a share of data and slots and a pass counter, and talks to the same block
// of other ranks. The pass number determines flags and the set of slots. In each pass each rank
// writes to each peer, data or a flag alone; the flag also tells that the writer's earlier passes
// are done. A set is reused two passes later, after the writer has heard from all ranks about the
// pass in between: during that pass if data came from all or a bcast takes two hops, else before
// writing (kOwes in the counter).
//
// A launch holds no pass number, so graphs can replay launches.
#pragma once

#include "cuda/kernels/memory.cuh"
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

/// `Self` has push(), end_push(), reduce(), relay(), copy(), end_spread(), stays(), and
/// has_come(number, rank), whether a rank has written for a pass.
template <class Self>
class PushPasses {
 public:
  TERN_DEVICE PushPasses(const PushArguments& arguments, PushShared& shared)
      : a_(arguments),
        shared_(shared),
        waiter_(arguments.bases, arguments.ranks, arguments.rank, arguments.abort_word,
                DEV(arguments.reports) + blockIdx.x, arguments.call, arguments.timeout,
                shared.wait) {}

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
    for (int64_t chunk = 0; chunk < a_.chunks && self().stays(); ++chunk) run_chunk(chunk);
    if (threadIdx.x != 0 || waiter_.left()) return;
    waiter_.end();
    ptx::store_relaxed_system(counter, number_ | (owes_ ? kOwes : 0));
    if (a_.what == PushArguments::kBarrier) ptx::fence_system();
  }

 protected:
  static constexpr uint64_t kOwes = uint64_t{1} << 63;  // must hear from all ranks

  TERN_DEVICE void run_chunk(int64_t chunk) {
    before_ = chunk * a_.chunk;
    const int64_t rest = a_.bytes - before_;
    length_ = rest < a_.chunk ? rest : a_.chunk;
    const int32_t owners = a_.ranks - (a_.ranks > 1 && root() >= 0 ? 1 : 0);
    part_ = ((length_ + 15) / 16 + owners - 1) / owners * 16;
    const int64_t bytes = a_.spread != 0 ? part_ : length_;
    const int64_t vectors = bytes > 0 ? (bytes + 15) / 16 : 1;
    const int64_t each = (vectors + gridDim.x - 1) / gridDim.x;
    first_ = each * blockIdx.x < vectors ? each * blockIdx.x : vectors;
    end_ = first_ + each < vectors ? first_ + each : vectors;
    for (; first_ < end_ && self().stays(); first_ += a_.room) {
      run_pass();
      __syncthreads();
    }
  }

  TERN_DEVICE void run_pass() {
    const int64_t rest = end_ - first_;
    count_ = rest > a_.room ? a_.room : rest;
    ++number_;
    if (owes_) {
      hear(number_ - 1, PushArguments::kAllRanks, Instruction::kCredit);
      __syncthreads();
      if (!self().stays()) return;
    }
    from_ = a_.from;
    self().push();
    self().end_push();
    if (a_.what == PushArguments::kReduce)
      self().reduce();
    else if (a_.spread != 0)
      self().relay();
    else
      self().copy();
    owes_ = a_.from != PushArguments::kAllRanks;
    if (a_.spread != 0) spread();
  }

  /// Second hop: receives the parts of all owners. A sender of a part has read all data of the
  /// previous pass; end_spread() waits until all threads know this. The root of a bcast sends
  /// no part, and waits for all owners too.
  TERN_DEVICE void spread() {
    ++number_;
    from_ = PushArguments::kAllRanks;
    owes_ = root() >= 0;
    self().copy();
    __syncthreads();
    if (self().stays()) self().end_spread();
  }

  TERN_DEVICE void hear(uint64_t number, int32_t from, int32_t message) {
    const auto threads = static_cast<int32_t>(blockDim.x);
    for (auto k = static_cast<int32_t>(threadIdx.x); k < a_.ranks; k += threads) {
      if (k == a_.rank || !is_among(k, from)) continue;
      const auto what = [&] { return awaited(number, k, message); };
      unsigned polls = 0;
      uint64_t begun = 0;
      while (!self().has_come(number, k))
        if (!waiter_.again(&polls, &begun, what)) return;
    }
  }

  // Peers are taken in ring order, so that ranks do not all push to the same peer.
  template <class Action>
  TERN_DEVICE void for_others(const Action& action) const {
    TERN_ROLLED
    for (int32_t k = 1; k < a_.ranks; ++k) action(other(k));
  }
  [[nodiscard]] TERN_DEVICE int32_t other(int32_t k) const {
    return a_.rank + k < a_.ranks ? a_.rank + k : a_.rank + k - a_.ranks;
  }
  [[nodiscard]] TERN_DEVICE bool is_among(int32_t rank, int32_t some) const {
    return some == PushArguments::kAllRanks || some == rank ||
           (some == PushArguments::kAbove && rank > a_.rank) ||
           (some == PushArguments::kBelow && rank < a_.rank);
  }
  /// The root of a bcast in two hops, or negative.
  [[nodiscard]] TERN_DEVICE int32_t root() const {
    if (a_.spread == 0 || a_.what != PushArguments::kCopy) return PushArguments::kNoRank;
    return a_.input != nullptr ? a_.rank : a_.from;
  }
  /// Owners of parts, in the second hop.
  [[nodiscard]] TERN_DEVICE bool owns(int32_t rank) const { return rank != root(); }
  [[nodiscard]] TERN_DEVICE int64_t start_of_part(int32_t owner) const {
    return (owner - (root() >= 0 && owner > root() ? 1 : 0)) * part_;
  }
  [[nodiscard]] TERN_DEVICE bool pushes_one_block() const {
    return a_.input_stride == 0 && a_.spread == 0 && a_.tabled != PushArguments::kInput;
  }
  [[nodiscard]] TERN_DEVICE bool keeps_own() const {
    return a_.input != nullptr && a_.output != nullptr && a_.spread == 0;
  }
  [[nodiscard]] TERN_DEVICE static Awaited awaited(uint64_t number, int32_t from, int32_t message) {
    return {from, message, 0, static_cast<int64_t>(number)};
  }

  /// The slot's place among those of all sets, ranks and parts.
  [[nodiscard]] TERN_DEVICE int64_t place(uint64_t number, int32_t from) const {
    return (static_cast<int64_t>(number & 1) * a_.ranks + from) * a_.parts + blockIdx.x;
  }
  [[nodiscard]] TERN_DEVICE char* scratch(int32_t owner) const {
    return DEV(const_cast<char*>(a_.bases[owner]));
  }

  /// The bytes of the block from the pass's first vector to the chunk's end; may be negative.
  [[nodiscard]] TERN_DEVICE int64_t rest_of(int32_t block) const {
    const int64_t behind = first_ * 16;
    if (a_.spread != 0) {
      const int64_t rest = owns(block) ? length_ - start_of_part(block) : 0;
      return (rest < part_ ? rest : part_) - behind;
    }
    if (a_.tabled == PushArguments::kNone) return length_ - behind;
    const int64_t rest = a_.table[block].length - before_;
    return (rest < a_.chunk ? rest : a_.chunk) - behind;
  }
  [[nodiscard]] TERN_DEVICE int bytes_of(int32_t block, int64_t i) const {
    const int64_t rest = rest_of(block) - i * 16;
    return rest < 0 ? 0 : rest < 16 ? static_cast<int>(rest) : 16;
  }
  [[nodiscard]] TERN_DEVICE const char* input_of(int32_t block) const {
    return DEV(a_.input) + offset_of(block, PushArguments::kInput, a_.input_stride);
  }
  [[nodiscard]] TERN_DEVICE char* output_of(int32_t block) const {
    return DEV(a_.output) + offset_of(block, PushArguments::kOutput, a_.output_stride);
  }
  [[nodiscard]] TERN_DEVICE Vector load_own(int32_t block, int64_t i) const {
    const int bytes = bytes_of(block, i);
    return bytes == 0 ? Vector{} : load_some(input_of(block) + i * 16, bytes);
  }
  TERN_DEVICE void write(int32_t block, int64_t i, const Vector& value) const {
    const int bytes = a_.output == nullptr ? 0 : bytes_of(block, i);
    if (bytes > 0) store_some(output_of(block) + i * 16, value, bytes);
  }

  const PushArguments& a_;
  PushShared& shared_;
  Waiter waiter_;
  int64_t before_ = 0, length_ = 0, part_ = 0;  // bytes: earlier chunks; the chunk; its parts
  int64_t first_ = 0, end_ = 0, count_ = 0;     // vectors of the chunk
  uint64_t number_ = 0;
  int32_t from_ = PushArguments::kNoRank;  // the data's source in this hop
  bool owes_ = false;

 private:
  [[nodiscard]] TERN_DEVICE Self& self() { return static_cast<Self&>(*this); }
  [[nodiscard]] TERN_DEVICE int64_t offset_of(int32_t block, PushArguments::Tabled side,
                                              int64_t stride) const {
    const int64_t start = a_.tabled == side ? a_.table[block].offset
                          : a_.spread != 0  ? start_of_part(block)
                                            : block * stride;
    return start + before_ + first_ * 16;
  }
};

}  // namespace
}  // namespace tern::cuda
