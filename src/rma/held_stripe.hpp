// SPDX-License-Identifier: Apache-2.0
// HeldStripe: locks a stripe while elements change. Spins, then yields and checks whether the
// holder lives. Threads: any, of any process of the host.
#pragma once

#include "base/error.hpp"
#include "mpi.h"
#include "rma/elements.hpp"

namespace tern::rma {

class HeldStripe {
 public:
  HeldStripe(const Shared& shared, const std::byte* at) noexcept
      : HeldStripe(shared.control.stripe(place_of(shared, at)).holder, shared.holder) {}
  /// Locks another word than a stripe.
  HeldStripe(std::atomic<int32_t>& word, int32_t mine) noexcept : word_(word) {
    int32_t holder = 0;
    if (!word_.compare_exchange_strong(holder, mine, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      code_ = take_late(mine);
  }
  HeldStripe(const HeldStripe&) = delete;
  HeldStripe& operator=(const HeldStripe&) = delete;
  ~HeldStripe() {
    if (code_ == MPI_SUCCESS) word_.store(0, std::memory_order_release);
  }
  /// Returns MPI_ERR_OTHER with fail() text if the holder died.
  [[nodiscard]] int code() const noexcept { return code_; }

  /// Offsets with equal quotients by kBytes share a stripe.
  [[nodiscard]] static uint64_t place_of(const Shared& shared, const std::byte* at) noexcept {
    return reinterpret_cast<uint64_t>(at) - reinterpret_cast<uint64_t>(shared.origin);
  }
  static constexpr uint64_t kBytes = uint64_t{1} << Control::kStripeShift;
  /// Counts the elements that begin under the first element's stripe; at least one.
  [[nodiscard]] static size_t count_under(uint64_t place, size_t count, size_t extent) noexcept {
    const size_t room = (kBytes - place % kBytes) / extent;
    return room == 0 ? 1 : room < count ? room : count;
  }

 private:
  [[nodiscard]] TERN_COLD int take_late(int32_t mine) noexcept;

  std::atomic<int32_t>& word_;
  int code_ = MPI_SUCCESS;
};

}  // namespace tern::rma
