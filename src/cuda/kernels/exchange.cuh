// SPDX-License-Identifier: Apache-2.0
// Exchange of blocks of sizes known only to sender and receiver. Each pair of ranks has a stream of
// chunks per direction, through a region of the receiver's scratch with two alternating sets.
// Why beside the interpreter: each pair has its own number of steps, and ranks without data for a
// peer send nothing.
//
// In a step a rank sends a chunk to each peer, then receives a chunk from each peer. Before
// sending, the rank waits for the credit of the set. The receiver gave the credit two steps before,
// ahead of any wait of this step, so ranks never wait in a circle. In place, a chunk is sent before
// the replacement is received, because both ends cut alike.
//
// Each thread block moves a part of every chunk and talks to the same block of other ranks.
// Semaphores and regions are the interpreter's, and end in the same state (data 0, credit 1). A
// signal's value is a hash of the number of the exchange, the length of the block and the offset of
// the chunk in the block. So the first common chunk reveals different counts, and a later call or a
// graph's replay takes no leftover chunk.
#pragma once

#include "cuda/kernels/pairs.cuh"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/wait.cuh"

namespace tern::cuda {
namespace {

struct AllWaits {
  static constexpr bool kForLeave = true, kForData = true;
};

/// `Waits`: like AllWaits.
template <class Waits>
class Exchanger {
  using Block = ExchangeArguments::Block;

 public:
  TERN_DEVICE Exchanger(const ExchangeArguments& arguments, InterpretShared& shared)
      : a_(arguments),
        copy_(shared.reduction),
        waiter_(arguments.bases, arguments.ranks, arguments.rank, arguments.abort_word,
                DEV(arguments.reports) + blockIdx.x, arguments.call, arguments.timeout,
                shared.wait) {}

  TERN_DEVICE void run() {
    if (threadIdx.x == 0) waiter_.begin();
    for (step_ = a_.begin; step_ < a_.end && !left_; ++step_) {
      own_ = nullptr;
      for_chunks(0, a_.sent, [&](const Block& block, const Chunk& chunk) { send(block, chunk); });
      for_chunks(a_.sent, a_.sent + a_.received,
                 [&](const Block& block, const Chunk& chunk) { receive(block, chunk); });
    }
  }

 private:
  struct Chunk {
    char* at;
    int64_t bytes;
    uint32_t signal;
  };

  template <class Action>
  TERN_DEVICE void for_chunks(int32_t first, int32_t end, const Action& action) {
    for (int32_t i = first; i < end && !left_; ++i) {
      const Block& block = a_.blocks[i];
      const int64_t each = exchange_part(block.bytes, a_.parts, a_.least, a_.pairs.region_each);
      const int64_t step = step_ - block.first, begin = (step * a_.parts + blockIdx.x) * each;
      const int64_t rest = block.bytes - begin;
      if (step < 0 || rest <= 0) continue;
      char* const at = DEV(block.at) + (block.packed != 0 ? blockIdx.x * each : begin);
      action(block, Chunk{at, rest < each ? rest : each, signal_of(block.bytes, begin)});
    }
  }
  [[nodiscard]] TERN_DEVICE uint32_t signal_of(int64_t bytes, int64_t begin) const {
    const uint64_t mixed =
        (static_cast<uint64_t>(bytes) * 31 + static_cast<uint64_t>(begin)) * 0x9E3779B97F4A7C15U +
        a_.number * uint64_t{0xD1B54A32D192ED03U};
    return static_cast<uint32_t>(mixed >> 32) << 2 | 2;
  }

  TERN_DEVICE void send(const Block& block, const Chunk& chunk) {
    if (block.peer == a_.rank) {
      own_ = chunk.at;
      return;
    }
    if (threadIdx.x == 0) {
      if (Waits::kForLeave) take(credit(a_.rank, block.peer), 1, block.peer, Instruction::kCredit);
      prepare(chunk.at, inbox(block.peer, a_.rank), chunk.bytes);
    }
    if (do_copy() && threadIdx.x == 0) ptx::signal_system(data(block.peer, a_.rank), chunk.signal);
  }

  TERN_DEVICE void receive(const Block& block, const Chunk& chunk) {
    if (threadIdx.x == 0 && block.peer != a_.rank && Waits::kForData)
      take(data(a_.rank, block.peer), chunk.signal, block.peer, 0);
    if (threadIdx.x == 0)
      prepare(block.peer == a_.rank ? own_ : inbox(a_.rank, block.peer), chunk.at, chunk.bytes);
    if (do_copy() && threadIdx.x == 0 && block.peer != a_.rank)
      ptx::signal_system(credit(block.peer, a_.rank), 1);
  }

  TERN_DEVICE void take(uint32_t* word, uint32_t signal, int32_t peer, int32_t message) {
    if (waiter_.left()) return;
    const auto what = [&] { return Awaited{peer, message, 0, step_}; };
    unsigned polls = 0;
    uint64_t begun = 0;
    uint32_t found = 0;
    while ((found = ptx::load_acquire_system(word)) == 0)
      if (!waiter_.again(&polls, &begun, what)) return;
    if (found != signal) return waiter_.refuse({peer, Instruction::kLength, 0, step_});
    waiter_.end();
    ptx::store_relaxed_system(word, 0U);
  }

  TERN_DEVICE void prepare(const char* from, char* to, int64_t bytes) {
    copy_.sources[0] = from;
    copy_.target = to;
    copy_.count = bytes;
    copy_.n = 1;
  }
  /// A copy is a sum over a single vector. Returns false if the block leaves.
  TERN_DEVICE bool do_copy() {
    __syncthreads();
    left_ = waiter_.left();
    if (left_) return false;
    if (copy_.sources[0] != copy_.target) reduce_alone<1, uint32_t, Band>(copy_);
    __syncthreads();
    return true;
  }

  [[nodiscard]] TERN_DEVICE char* scratch(int32_t owner) const {
    return const_cast<char*>(a_.bases[owner]);
  }
  [[nodiscard]] TERN_DEVICE uint32_t* data(int32_t owner, int32_t from) const {
    return data_word(a_.pairs, scratch(owner), from, set(), 0);
  }
  [[nodiscard]] TERN_DEVICE uint32_t* credit(int32_t owner, int32_t to) const {
    return credit_word(a_.pairs, scratch(owner), to, set());
  }
  [[nodiscard]] TERN_DEVICE char* inbox(int32_t owner, int32_t from) const {
    return inbox_of(a_.pairs, scratch(owner), from, set());
  }
  [[nodiscard]] TERN_DEVICE int32_t set() const {
    return static_cast<int32_t>((a_.set + step_) & 1);
  }

  const ExchangeArguments& a_;
  ReduceArguments& copy_;
  Waiter waiter_;
  int64_t step_ = 0;
  const char* own_ = nullptr;
  bool left_ = false;  // as of the last barrier: all threads leave together
};

}  // namespace
}  // namespace tern::cuda
