// SPDX-License-Identifier: Apache-2.0
// FarElements: pieces are gathered until the array is full.
#include "rma/far_elements.hpp"

#include <algorithm>
#include <cstring>

#include "btl/sm/cma.hpp"
#include "rma/copied.hpp"
#include "rma/held_stripe.hpp"

namespace tern::rma {

int FarElements::add(std::byte* at, size_t count) noexcept {
  const size_t extent = element_.extent, most = kRoom / extent;
  // The gap behind an element, which may be outside the window, or another's, is left alone.
  const bool has_gaps = element_.span != extent;
  while (count > 0) {
    const uint64_t place = HeldStripe::place_of(shared_, at), stripe = place / HeldStripe::kBytes;
    if (pieces_ == kMostPieces || count_ == most || (pieces_ > 0 && stripe != stripe_))
      if (const int code = end(); code != MPI_SUCCESS) return code;
    const size_t room = std::min(count, has_gaps ? size_t{1} : most - count_);
    const size_t few = HeldStripe::count_under(place, room, extent);
    const size_t bytes = (few - 1) * extent + element_.span;
    there_[pieces_] = {at, bytes};
    here_[pieces_++] = {room_ + count_ * extent, bytes};
    stripe_ = stripe;
    count_ += few;
    count -= few;
    at += few * extent;
  }
  return MPI_SUCCESS;
}

int FarElements::end() noexcept {
  if (pieces_ == 0) return MPI_SUCCESS;
  const HeldStripe held(shared_, static_cast<std::byte*>(there_[0].iov_base));
  if (held.code() != MPI_SUCCESS) return held.code();
  const pid_t process = shared_.process;
  int error = btl::sm::cma_get(process, here_, pieces_, there_, pieces_);
  if (error == 0) {
    apply_held(room_, count_, element_, rest_);
    if (rest_.in != nullptr) error = btl::sm::cma_put(process, here_, pieces_, there_, pieces_);
  }
  rest_ = rest_.behind(count_ * element_.extent);
  pieces_ = count_ = 0;
  return error == 0 ? MPI_SUCCESS : fail_copy(process, error);
}

int compare_and_swap_far(const Shared& shared, std::byte* at, size_t bytes, const void* compare,
                         const void* value, void* result) noexcept {
  const iovec there{at, bytes}, old{result, bytes}, next{const_cast<void*>(value), bytes};
  int error = btl::sm::cma_get(shared.process, &old, 1, &there, 1);
  if (error == 0 && std::memcmp(result, compare, bytes) == 0)
    error = btl::sm::cma_put(shared.process, &next, 1, &there, 1);
  return error == 0 ? MPI_SUCCESS : fail_copy(shared.process, error);
}

}  // namespace tern::rma
