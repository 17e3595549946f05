// SPDX-License-Identifier: Apache-2.0
#include "rma/held_stripe.hpp"

#include <sched.h>

#include "base/ended.hpp"
#include "base/relax.hpp"

namespace tern::rma {

int HeldStripe::take_late(int32_t mine) noexcept {
  constexpr uint32_t kSpins = 100, kRoundsBetweenLooks = 4096;
  for (uint32_t round = 1;; ++round) {
    int32_t holder = word_.load(std::memory_order_relaxed);
    if (holder == 0 && word_.compare_exchange_weak(holder, mine, std::memory_order_acquire,
                                                   std::memory_order_relaxed))
      return MPI_SUCCESS;
    if (round % kRoundsBetweenLooks == 0 && holder != 0 && has_ended(holder))
      return fail(MPI_ERR_OTHER,
                  "a process (pid %d) ended while writing to the target's memory; elements there "
                  "may be half written",
                  holder);
    if (round < kSpins)
      relax();
    else
      ::sched_yield();
  }
}

}  // namespace tern::rma
