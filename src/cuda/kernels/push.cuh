// SPDX-License-Identifier: Apache-2.0
// Pusher: small collectives over packets that hold data and flag (LL or LL128). Thus a hop takes a
// single trip, without fences and barriers.
//
// LL flags repeat after 2^32 passes; to erase old flags, two of every 2^24 passes write whole
// slots.
//
// A wire defines the turns in which threads take vectors. LL threads are independent; LL128 warps
// act together and agree in all(). Each wire has separate slots and counters.
#pragma once

#include "cuda/kernels/ll.cuh"
#include "cuda/kernels/ll128.cuh"
#include "cuda/kernels/push_passes.cuh"

namespace tern::cuda {
namespace {

/// `Wire`: like LlWire.
template <class Wire>
class Pusher : public PushPasses<Pusher<Wire>> {
  using Passes = PushPasses<Pusher<Wire>>;
  using Turn = typename Wire::Turn;
  using Slot = typename Wire::Slot;
  friend Passes;

 public:
  using Passes::Passes;

 private:
  using Passes::a_, Passes::count_, Passes::number_, Passes::waiter_;
  using Passes::from_, Passes::is_among;
  static constexpr int kBatch = 4;  // ranks at once

  TERN_DEVICE void push() {
    if (a_.to == PushArguments::kNoRank) return;
    const bool is_one = Passes::pushes_one_block();
    for (Turn turn(0); turn.begin() < count_; turn.next())
      if (is_one)
        put_to_all(turn, load_own(a_.rank, turn));
      else
        put_to_each(turn);
  }
  TERN_DEVICE void put_to_all(const Turn& turn, const Vector& value) const {
    Passes::for_others([&](int32_t to) {
      if (is_among(to, a_.to)) put(number_, to, turn, value);
    });
  }
  // Loads of a batch precede the stores, to overlap.
  TERN_DEVICE void put_to_each(const Turn& turn) const {
    for (int32_t first = 1; first < a_.ranks; first += kBatch) {
      Vector values[kBatch];
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (sends_to(first + j)) values[j] = load_own(Passes::other(first + j), turn);
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (sends_to(first + j)) put(number_, Passes::other(first + j), turn, values[j]);
    }
  }
  [[nodiscard]] TERN_DEVICE bool sends_to(int32_t k) const {
    return k < a_.ranks && is_among(Passes::other(k), a_.to);
  }
  TERN_DEVICE void end_push() { fill(a_.to); }
  TERN_DEVICE void end_spread() {
    fill(Passes::owns(a_.rank) ? PushArguments::kAllRanks : PushArguments::kNoRank);
  }

  TERN_DEVICE void fill(int32_t with_data) {
    const bool whole = Wire::kRepeats && (number_ & a_.refresh) < 2;
    Passes::for_others([&](int32_t to) {
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
      for (int32_t last = a_.last; last >= 0; last -= kBatch) {
        Vector values[kBatch];
        if (!receive(last, -1, turn, values)) return;
        TERN_UNROLL
        for (int j = 0; j < kBatch; ++j)
          if (j <= last)
            sum =
                last - j == a_.last ? values[j] : combine(a_.kernel, a_.operation, values[j], sum);
      }
      write(a_.rank, turn, sum);
      if (a_.spread != 0) Passes::for_others([&](int32_t to) { put(number_ + 1, to, turn, sum); });
    }
  }

  /// A peer writes its first packet after its last read of the set for the second hop.
  TERN_DEVICE void relay() {
    Passes::hear(number_, PushArguments::kAllRanks, 0);
    __syncthreads();
    if (!stays() || !Passes::owns(a_.rank)) return;
    for (Turn turn(0); turn.begin() < count_; turn.next()) {
      Vector values[kBatch];
      if (!receive(from_, 1, turn, values)) return;
      write(a_.rank, turn, values[0]);
      Passes::for_others([&](int32_t to) { put(number_ + 1, to, turn, values[0]); });
    }
  }

  TERN_DEVICE void copy() {
    const bool keeps = Passes::keeps_own();
    const bool many = from_ == PushArguments::kAllRanks;
    if (!many && from_ < 0 && !keeps) return;
    for (Turn turn(0); turn.begin() < count_; turn.next()) {
      if (keeps) write(a_.rank, turn, load_own(a_.rank, turn));
      for (int32_t first = many ? 0 : from_; first >= 0 && first < a_.ranks; first += kBatch) {
        Vector values[kBatch];
        if (!receive(first, 1, turn, values)) return;
        TERN_UNROLL
        for (int j = 0; j < kBatch; ++j)
          if (comes_from(first + j)) write(first + j, turn, values[j]);
        if (!many) break;
      }
    }
  }
  [[nodiscard]] TERN_DEVICE bool comes_from(int32_t rank) const {
    if (from_ != PushArguments::kAllRanks) return from_ == rank && rank != a_.rank;
    return rank < a_.ranks && rank != a_.rank && Passes::owns(rank);
  }

  TERN_DEVICE void put(uint64_t number, int32_t to, const Turn& turn, const Vector& value) const {
    slot(number, to, a_.rank).put(turn, value, Wire::flag_of(number));
  }
  /// Looks at the slots of a batch of ranks from `first` on, in the given direction, until all have
  /// come; a reduction also takes the own data. Returns false if the block leaves; the result is
  /// the same in all threads that must stay together.
  TERN_DEVICE bool receive(int32_t first, int32_t direction, const Turn& turn,
                           Vector (&values)[kBatch]) {
    const bool sums = direction < 0;
    typename Wire::Seen seen[kBatch];
    unsigned polls = 0;
    uint64_t begun = 0;
    const auto awaits = [&](int32_t rank) {
      return sums ? rank >= 0 && rank != a_.rank : comes_from(rank);
    };
    for (;;) {
      TERN_UNROLL
      for (int j = 0; j < kBatch; ++j)
        if (awaits(first + j * direction))
          seen[j] = slot(number_, a_.rank, first + j * direction).look(turn);
      int missing = kBatch;
      TERN_UNROLL
      for (int j = kBatch - 1; j >= 0; --j)
        if (awaits(first + j * direction) && !Wire::is_whole(seen[j], Wire::flag_of(number_)))
          missing = j;
      if (Wire::all(missing == kBatch)) break;
      missing = Wire::least(missing);
      const auto what = [&] { return Passes::awaited(number_, first + missing * direction, 0); };
      if (!Wire::all(!Wire::is_first() || waiter_.again(&polls, &begun, what))) return false;
    }
    TERN_UNROLL
    for (int j = 0; j < kBatch; ++j) {
      const int32_t rank = first + j * direction;
      if (awaits(rank)) values[j] = Wire::value_of(seen[j]);
      if (sums && rank == a_.rank) values[j] = load_own(rank, turn);
    }
    return true;
  }
  [[nodiscard]] TERN_DEVICE bool has_come(uint64_t number, int32_t from) const {
    return slot(number, a_.rank, from).has_begun(Wire::flag_of(number));
  }
  [[nodiscard]] TERN_DEVICE bool stays() const { return Wire::all(!waiter_.left()); }

  [[nodiscard]] TERN_DEVICE Slot slot(uint64_t number, int32_t owner, int32_t from) const {
    return Slot(
        Passes::scratch(owner) + a_.words + Passes::place(number, from) * Wire::bytes_of(a_.room),
        a_.room);
  }
  [[nodiscard]] TERN_DEVICE Vector load_own(int32_t block, const Turn& turn) const {
    return turn.has_one_of(count_) ? Passes::load_own(block, turn.vector()) : Vector{};
  }
  TERN_DEVICE void write(int32_t block, const Turn& turn, const Vector& value) const {
    if (turn.has_one_of(count_)) Passes::write(block, turn.vector(), value);
  }
};

}  // namespace
}  // namespace tern::cuda
