// SPDX-License-Identifier: Apache-2.0
// BulkPusher: large collectives. Slots hold plain vectors, and a flag per pass tells that all have
// arrived.
// Why: vectors need no flag of their own, and each thread has several loads in flight, as a link
// needs some 700 KB in flight to be full. Each pass costs one fence and one flag to each peer.
#pragma once

#include "cuda/kernels/push_passes.cuh"

namespace tern::cuda {
namespace {

struct BulkOrder {
  TERN_DEVICE static void before_flags() { ptx::fence_system(); }
  TERN_DEVICE static void behind_flags() { ptx::fence_system(); }
  TERN_DEVICE static bool is(uint64_t flag, uint64_t wanted, bool /*of_data*/) {
    return flag == wanted;
  }
};

/// `Order`: like BulkOrder.
template <class Order>
class BulkPusher : public PushPasses<BulkPusher<Order>> {
  using Passes = PushPasses<BulkPusher<Order>>;
  friend Passes;

 public:
  using Passes::Passes;

 private:
  using Passes::a_, Passes::count_, Passes::from_, Passes::number_, Passes::waiter_;
  static constexpr int kBatch = 2, kSums = 2;  // vectors of a thread at once

  TERN_DEVICE void push() {
    if (a_.to == PushArguments::kNoRank) return;
    if (Passes::pushes_one_block())
      return each_own(a_.rank, [&](int64_t i, const Vector& value) {
        Passes::for_others([&](int32_t to) {
          if (Passes::is_among(to, a_.to)) put(number_, to, i, value);
        });
      });
    each_pair(
        a_.to, [&](int32_t to, int64_t i) { return Passes::load_own(to, i); },
        [&](int32_t to, int64_t i, const Vector& value) { put(number_, to, i, value); });
  }
  /// Loads and stores vectors of several ranks in turn.
  template <class Load, class Store>
  TERN_DEVICE void each_pair(int32_t some, const Load& load, const Store& store) const {
    constexpr int kRanks = 4;
    for (int64_t i = threadIdx.x; i < count_; i += 2 * int64_t{blockDim.x})
      for (int32_t first = 1; first < a_.ranks; first += kRanks) {
        Vector values[2 * kRanks];
        const auto is = [&](int j) {
          const int32_t k = first + j / 2;
          return k < a_.ranks && at(i, j % 2) < count_ && Passes::is_among(Passes::other(k), some);
        };
        TERN_UNROLL
        for (int j = 0; j < 2 * kRanks; ++j)
          if (is(j)) values[j] = load(Passes::other(first + j / 2), at(i, j % 2));
        TERN_UNROLL
        for (int j = 0; j < 2 * kRanks; ++j)
          if (is(j)) store(Passes::other(first + j / 2), at(i, j % 2), values[j]);
      }
  }
  [[nodiscard]] TERN_DEVICE static int64_t at(int64_t i, int j) {
    return i + j * int64_t{blockDim.x};
  }
  TERN_DEVICE void end_push() { tell(number_); }
  TERN_DEVICE static void end_spread() {}

  TERN_DEVICE void reduce() {
    if (!arrived(a_.from)) return;
    const int64_t step = blockDim.x, whole = whole_of(a_.rank);
    int64_t i = threadIdx.x;
    for (; i + (kSums - 1) * step < whole; i += kSums * step) reduce_some<kSums>(i);
    for (; i < count_; i += step) reduce_some<1>(i);
    if (a_.spread != 0) tell(number_ + 1);
  }

  // The loads of the last two operands precede the first use.
  template <int kSome>
  TERN_DEVICE void reduce_some(int64_t i) const {
    Vector sums[kSome];
    load_operand(a_.last, i, sums);
    for (int32_t k = a_.last - 1; k >= 0; --k) {
      Vector values[kSome];
      load_operand(k, i, values);
      TERN_UNROLL
      for (int j = 0; j < kSome; ++j)
        sums[j] = combine(a_.kernel, a_.operation, values[j], sums[j]);
    }
    TERN_UNROLL
    for (int j = 0; j < kSome; ++j) Passes::write(a_.rank, i + j * int64_t{blockDim.x}, sums[j]);
    if (a_.spread == 0) return;
    Passes::for_others([&](int32_t to) {
      TERN_UNROLL
      for (int j = 0; j < kSome; ++j) put(number_ + 1, to, i + j * int64_t{blockDim.x}, sums[j]);
    });
  }
  template <int kSome>
  TERN_DEVICE void load_operand(int32_t from, int64_t i, Vector (&values)[kSome]) const {
    if (from != a_.rank)
      load_slot(from, i, values);
    else if constexpr (kSome == 1)
      values[0] = Passes::load_own(from, i);
    else
      load_vectors(Passes::input_of(from) + i * 16, int64_t{blockDim.x} * 16, values);
  }

  /// The root needs flags alone.
  TERN_DEVICE void relay() {
    if (!arrived(PushArguments::kAllRanks)) return;
    if (Passes::owns(a_.rank))
      each_of([&](int64_t i) { return ptx::load_peer(slot(number_, a_.rank, from_) + i); },
              [&](int64_t i, const Vector& value) {
                Passes::write(a_.rank, i, value);
                Passes::for_others([&](int32_t to) {
                  if (to != from_) put(number_ + 1, to, i, value);
                });
              });
    tell(number_ + 1);
  }

  TERN_DEVICE void copy() {
    if (Passes::keeps_own())
      each_own(a_.rank, [&](int64_t i, const Vector& value) { Passes::write(a_.rank, i, value); });
    if (!arrived(from_) || a_.output == nullptr) return;
    each_pair(
        from_,
        [&](int32_t from, int64_t i) {
          return Passes::owns(from) || from_ >= 0 ? ptx::load_peer(slot(number_, a_.rank, from) + i)
                                                  : Vector{};
        },
        [&](int32_t from, int64_t i, const Vector& value) { Passes::write(from, i, value); });
  }

  template <int kSome>
  TERN_DEVICE void load_slot(int32_t from, int64_t i, Vector (&values)[kSome]) const {
    TERN_UNROLL
    for (int j = 0; j < kSome; ++j)
      values[j] = ptx::load_peer(slot(number_, a_.rank, from) + i + j * int64_t{blockDim.x});
  }
  /// Calls action(i, load(i)) for this thread's vectors.
  template <class Load, class Action>
  TERN_DEVICE void each_of(const Load& load, const Action& action) const {
    for (int64_t i = threadIdx.x; i < count_; i += kBatch * int64_t{blockDim.x}) {
      Vector values[kBatch];
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (at(i, j) < count_) values[j] = load(at(i, j));
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (at(i, j) < count_) action(at(i, j), values[j]);
    }
  }
  /// The same for vectors of the caller's block.
  template <class Action>
  TERN_DEVICE void each_own(int32_t block, const Action& action) const {
    const int64_t step = blockDim.x, whole = whole_of(block);
    for (int64_t i = threadIdx.x; i < count_; i += kBatch * step) {
      Vector values[kBatch];
      if (at(i, kBatch - 1) < whole) {
        load_vectors(Passes::input_of(block) + i * 16, step * 16, values);
      } else {
        TERN_UNROLL
        for (int j = 0; j < kBatch; ++j)
          if (at(i, j) < count_) values[j] = Passes::load_own(block, at(i, j));
      }
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (at(i, j) < count_) action(at(i, j), values[j]);
    }
  }
  [[nodiscard]] TERN_DEVICE int64_t whole_of(int32_t block) const {
    const int64_t whole = Passes::rest_of(block) / 16;
    return whole < count_ ? whole : count_;
  }

  TERN_DEVICE void put(uint64_t number, int32_t to, int64_t i, const Vector& value) const {
    ptx::store_peer(slot(number, to, a_.rank) + i, value);
  }
  /// PTX: the barrier and thread 0's fence order all threads' stores before the flags.
  TERN_DEVICE void tell(uint64_t number) {
    __syncthreads();
    if (threadIdx.x != 0 || waiter_.left()) return;
    Order::before_flags();
    Passes::for_others(
        [&](int32_t to) { ptx::store_behind_fence(flag(number, to, a_.rank), number); });
  }
  /// Returns false if the block leaves.
  TERN_DEVICE bool arrived(int32_t from) {
    if (from == PushArguments::kNoRank) return false;
    Passes::hear(number_, from, 0);
    const auto thread = static_cast<int32_t>(threadIdx.x);
    if (thread < a_.ranks && thread != a_.rank) Order::behind_flags();  // this thread has looked
    __syncthreads();
    return stays();
  }
  [[nodiscard]] TERN_DEVICE bool has_come(uint64_t number, int32_t from) const {
    return Order::is(ptx::load_before_fence(flag(number, a_.rank, from)), number,
                     number == number_);
  }
  [[nodiscard]] TERN_DEVICE bool stays() const { return !waiter_.left(); }

  [[nodiscard]] TERN_DEVICE Vector* slot(uint64_t number, int32_t owner, int32_t from) const {
    return reinterpret_cast<Vector*>(Passes::scratch(owner) + a_.words) +
           Passes::place(number, from) * a_.room;
  }
  [[nodiscard]] TERN_DEVICE uint64_t* flag(uint64_t number, int32_t owner, int32_t from) const {
    return reinterpret_cast<uint64_t*>(Passes::scratch(owner) + a_.flags) +
           Passes::place(number, from);
  }
};

}  // namespace
}  // namespace tern::cuda
