// SPDX-License-Identifier: Apache-2.0
// Sliced reduce-scatter: for each host, in the order of a ring, a rank adds the parts of the rank's
// host for the block of the counterpart there. Sums pass through the hosts and end at the block's
// rank. All network cards work.
// Cost: q - 1 rounds between hosts, with n / p bytes each; n (g - 1) / g bytes within a host.
// Definitions: lane 0 goes between hosts, lane 1 within; q hosts of g ranks. Two slots hold own
// sums, and two the sums of the previous host: a sum leaves during the next addition.
#include <algorithm>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/slices.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kSumSlots = 2;

class SlicedSums {
 public:
  SlicedSums(Builder& b, const SlicePlace& place)
      : b_(b), place_(place), slots_(std::min(kSlots, std::max(place.slices() - 1, 1))) {
    b.lanes(2);
    b.at_once(8);
    b.stage(2 * kSumSlots + slots_);
  }

  void run() {
    const int32_t others = place_.slices() - 1, all = others * place_.hosts();
    for (int32_t i = 0; i < std::min(slots_, all); ++i) exchange(i);
    for (int32_t round = 0; round < place_.hosts(); ++round) {
      Slice held = Builder::input(target(round));
      for (int32_t i = round * others; i < (round + 1) * others; ++i) {
        b_.reduce(received(i), held, sum(round));
        held = sum(round);
        if (i + slots_ < all) exchange(i + slots_);
      }
      pass_on(round, held);
    }
    if (b_.ranks() == 1) b_.copy(Builder::input(), Builder::output());
  }

 private:
  // Round k adds the block of the counterpart k + 1 hosts before; the last is the own block.
  [[nodiscard]] int32_t target(int32_t round) const noexcept {
    return place_.team_ring(-round - 1);
  }
  [[nodiscard]] Slice sum(int32_t round) const noexcept {
    if (round + 1 == place_.hosts()) return Builder::output();
    return Builder::staged(round % kSumSlots, target(round));
  }
  [[nodiscard]] Slice received(int32_t number) const noexcept {
    const int32_t round = number / (place_.slices() - 1);
    return Builder::staged(2 * kSumSlots + number % slots_, target(round));
  }

  // A lane starts steps in order, so exchanges precede independent reductions.
  void exchange(int32_t number) {
    const int32_t others = place_.slices() - 1;
    const int32_t round = number / others, step = number % others + 1;
    b_.lane(1);
    b_.send(place_.host_ring(step),
            Builder::input(place_.member(place_.at - round - 1, place_.mine + step)));
    b_.recv(place_.host_ring(-step), received(number));
  }

  void pass_on(int32_t round, Slice held) {
    b_.lane(0);
    if (round > 0) {
      const Slice before = Builder::staged(kSumSlots + round % kSumSlots, target(round));
      b_.recv(place_.team_ring(-1), before);
      b_.reduce(before, held, sum(round));
      held = sum(round);
    }
    if (round + 1 < place_.hosts()) b_.send(place_.team_ring(1), held);
    b_.lane(1);
  }

  Builder& b_;
  const SlicePlace& place_;
  const int32_t slots_;
};

}  // namespace

void reduce_scatter_sliced(Builder& b) {
  const SlicePlace place = slice_place(b);
  SlicedSums(b, place).run();
}

}  // namespace tern::coll
