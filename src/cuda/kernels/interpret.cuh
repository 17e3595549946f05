// SPDX-License-Identifier: Apache-2.0
// Interpreter: runs a lowered schedule of a collective in one launch per rank, without host or
// driver calls between steps.
//
// Each thread block takes every gridDim.x-th pass, in its own share of scratch and semaphores, and
// talks to the same block of other ranks. So blocks need no mutual order. In a pass thread 0 waits
// and signals; all threads synchronize before and after each move or reduction.
//
// Semaphores are binary: a signal sets 1, the waiter resets 0. The semaphores do not count, so a
// launch needs no expected count, and a graph can replay the launch. Waits have timeouts
// (wait.cuh).
#pragma once

#include "cuda/kernels/pairs.cuh"
#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/wait.cuh"

namespace tern::cuda {
namespace {

TERN_DEVICE void reduce_by(int32_t kernel, const ReduceArguments& a) {
  switch (static_cast<ReduceNumber>(kernel)) {
#define TERN_CASE(suffix, type, ...) \
  case ReduceNumber::suffix:         \
    return reduce_alone<TERN_REDUCE_ELEMENT(suffix, type), type, __VA_ARGS__>(a);
    TERN_REDUCE_KERNELS(TERN_CASE)
#undef TERN_CASE
  }
}

struct AcquiringLook {
  TERN_DEVICE static uint32_t at(const uint32_t* word, int32_t /*message*/) {
    return ptx::load_acquire_system(word);
  }
};

/// `Look`: like AcquiringLook.
template <class Look>
class Interpreter {
 public:
  TERN_DEVICE Interpreter(const InterpretArguments& arguments, InterpretShared& shared)
      : a_(arguments),
        shared_(shared),
        program_(DEV(arguments.program)),
        waiter_(reinterpret_cast<const char* const*>(program_), arguments.ranks, arguments.rank,
                arguments.abort_word, DEV(arguments.reports) + blockIdx.x, arguments.call,
                arguments.timeout, shared.wait) {}

  TERN_DEVICE void run() {
    if (threadIdx.x == 0) waiter_.begin();
    set_ = a_.set;
    for (pass_ = a_.first_pass + blockIdx.x; pass_ < a_.end_pass; pass_ += gridDim.x) {
      if (left_) return;
      run_pass();
      set_ ^= 1;
    }
  }

 private:
  TERN_DEVICE void run_pass() {
    start_ = pass_ * a_.length;
    const int64_t rest = a_.total - start_, length = rest < a_.length ? rest : a_.length;
    if (a_.vector != 0) cut_ = cut_of(length);
    for (int32_t block = 0; block < a_.source_blocks && !left_; ++block) put_aside(block, length);
    const auto* const instructions =
        reinterpret_cast<const Instruction*>(program_ + a_.ranks * sizeof(char*));
    for (int32_t i = 0; i < a_.instructions && !left_; ++i) step(instructions[i]);
  }

  TERN_DEVICE void step(const Instruction& instruction) {
    switch (instruction.verb) {
      case Instruction::kMove:
        return move(instruction);
      case Instruction::kReduce:
        return reduce(instruction);
      case Instruction::kSignal:
        if (threadIdx.x == 0 && !waiter_.left())
          ptx::signal_system(word(instruction.peer, a_.rank, instruction.message), 1);
        return;
      default:
        if (threadIdx.x == 0 && !waiter_.left()) wait(instruction);
    }
  }

  TERN_DEVICE void put_aside(int32_t block, int64_t length) {
    const int32_t first = block * a_.parts;
    const int64_t bytes = a_.vector != 0 ? length * a_.element : length_of(first, a_.parts);
    if (bytes == 0) return;
    if (threadIdx.x == 0)
      prepare(user(a_.source, first), user(a_.sides[Operand::kInput], first), bytes);
    do_move();
  }

  TERN_DEVICE void move(const Instruction& instruction) {
    const int64_t bytes = length_of(instruction.first, instruction.blocks);
    const Operand* const operands = operands_of(instruction);
    for (int i = 0; i < instruction.destinations && bytes > 0 && !left_; ++i) {
      if (threadIdx.x == 0)
        prepare(address(operands[0]), address(operands[instruction.sources + i]), bytes);
      do_move();
    }
  }
  TERN_DEVICE void prepare(const char* from, char* to, int64_t bytes) {
    shared_.reduction.sources[0] = from;
    shared_.reduction.target = to;
    shared_.reduction.count = bytes;
    shared_.reduction.n = 1;
  }
  TERN_DEVICE void do_move() {
    if (!meet()) return;
    if (shared_.reduction.sources[0] != shared_.reduction.target)
      reduce_by(static_cast<int32_t>(ReduceNumber::bits), shared_.reduction);
    __syncthreads();
  }

  // With too many sources, the last sources are reduced first, to keep operand order.
  TERN_DEVICE void reduce(const Instruction& instruction) {
    const int64_t bytes = length_of(instruction.first, instruction.blocks);
    if (bytes == 0) return;
    const Operand* const operands = operands_of(instruction);
    ReduceArguments& reduction = shared_.reduction;
    const int mine = static_cast<int>(threadIdx.x);
    for (int left = instruction.sources, begun = 0; left > 0; begun = 1) {
      const int room = kMostSources - begun, some = left < room ? left : room;
      if (mine < some) reduction.sources[mine] = address(operands[left - some + mine]);
      if (mine == 0) {
        char* const target = address(operands[instruction.sources]);
        if (begun != 0) reduction.sources[some] = target;
        reduction.target = target;
        reduction.n = some + begun;
        reduction.count = bytes / a_.reduce_element;
        reduction.operation = a_.operation;
      }
      if (!meet()) return;
      reduce_by(a_.kernel, reduction);
      __syncthreads();
      left -= some;
    }
  }

  TERN_DEVICE bool meet() {
    __syncthreads();
    left_ = waiter_.left();
    return !left_;
  }

  TERN_DEVICE void wait(const Instruction& instruction) {
    uint32_t* const at = word(a_.rank, instruction.peer, instruction.message);
    const auto what = [&] {
      return Awaited{instruction.peer, instruction.message, instruction.step, pass_};
    };
    unsigned polls = 0;
    uint64_t begun = 0;
    while (Look::at(at, instruction.message) != 1)
      if (!waiter_.again(&polls, &begun, what)) return;
    waiter_.end();
    ptx::store_relaxed_system(at, 0U);
  }

  [[nodiscard]] TERN_DEVICE const Operand* operands_of(const Instruction& instruction) const {
    return reinterpret_cast<const Operand*>(program_ + a_.operands_at) + instruction.operand;
  }
  [[nodiscard]] TERN_DEVICE char* scratch(int32_t rank) const {
    return reinterpret_cast<char* const*>(program_)[rank];
  }
  [[nodiscard]] TERN_DEVICE uint32_t* word(int32_t owner, int32_t other, int32_t message) const {
    return message == Instruction::kCredit
               ? credit_word(a_.pairs, scratch(owner), other, set_)
               : data_word(a_.pairs, scratch(owner), other, set_, message);
  }

  /// Parts of `each` elements, of which the first `longer` have one more.
  struct Cut {
    int64_t each = 0, longer = 0;
    [[nodiscard]] TERN_DEVICE int64_t before(int32_t i) const {
      return each * i + (i < longer ? i : longer);
    }
  };
  [[nodiscard]] TERN_DEVICE Cut cut_of(int64_t length) const {
    if (a_.parts == 1) return {length, 0};
    return {length / a_.parts, length % a_.parts};
  }
  [[nodiscard]] TERN_DEVICE int32_t block_of(int32_t part) const {
    return a_.parts == 1 ? part : part / a_.parts;
  }
  /// The cut of the vector, or of the part's block.
  [[nodiscard]] TERN_DEVICE Cut cut_at(int32_t part) const {
    if (a_.vector != 0) return cut_;
    const int64_t rest = (a_.tabled != 0 ? a_.table[block_of(part)].length : a_.total) - start_;
    return cut_of(rest < 0 ? 0 : rest < a_.length ? rest : a_.length);
  }
  [[nodiscard]] TERN_DEVICE int32_t in_block(int32_t part) const {
    return a_.vector != 0 ? part : part - block_of(part) * a_.parts;
  }
  [[nodiscard]] TERN_DEVICE int64_t length_of(int32_t first, int32_t parts) const {
    const Cut cut = cut_at(first);
    const int32_t i = in_block(first);
    return (cut.before(i + parts) - cut.before(i)) * a_.element;
  }
  /// The bytes of a block before the part.
  [[nodiscard]] TERN_DEVICE int64_t before(int32_t part) const {
    if (a_.vector == 0 && a_.parts == 1) return 0;
    return cut_at(part).before(in_block(part)) * a_.element;
  }
  [[nodiscard]] TERN_DEVICE char* local() const {
    return scratch(a_.rank) + a_.local + blockIdx.x * a_.local_each;
  }
  [[nodiscard]] TERN_DEVICE char* user(const InterpretArguments::Side& side, int32_t first) const {
    char* const base = side.local != 0 ? local() + side.offset : side.base + start_ * a_.element;
    if (a_.vector != 0) return base + before(first);
    const int32_t block = block_of(first);
    return base + (side.in_table != 0 ? a_.table[block].offset : block * side.stride) +
           before(first);
  }
  [[nodiscard]] TERN_DEVICE char* address(const Operand& operand) const {
    if (operand.space == Operand::kInbox)
      return inbox_of(a_.pairs, scratch(operand.owner), operand.from, set_) +
             operand.slot * a_.unit;
    if (operand.space != Operand::kLocal) return user(a_.sides[operand.space], operand.first);
    char* const at = local() + (a_.front + operand.slot) * a_.unit;
    return operand.in_mirror != 0 ? at + before(operand.first) : at;
  }

  const InterpretArguments& a_;
  InterpretShared& shared_;
  const char* const program_;
  Waiter waiter_;
  int64_t pass_ = 0, start_ = 0;
  Cut cut_;  // of the vector
  int32_t set_ = 0;
  bool left_ = false;  // as of the last barrier: all threads leave together
};

}  // namespace
}  // namespace tern::cuda
