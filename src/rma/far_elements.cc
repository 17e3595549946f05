// SPDX-License-Identifier: Apache-2.0
#include "rma/far_elements.hpp"

#include <algorithm>
#include <cstring>

#include "btl/sm/cma.hpp"
#include "rma/copied.hpp"
#include "rma/held_stripe.hpp"

namespace tern::rma {

class FarElements::Gathered {
 public:
  Gathered(const Shared& shared, int32_t process, const Element& element,
           const Operands& operands) noexcept
      : shared_(shared), process_(process), element_(element), rest_(operands) {}

  /// Writes back full arrays, and the array before a change of stripe. Returns 0, or MPI_ERR_OTHER
  /// with fail() text.
  [[nodiscard]] int add(std::byte* at, size_t count) noexcept;
  [[nodiscard]] int end() noexcept;

 private:
  static constexpr size_t kMostPieces = 64, kRoom = 16384;

  const Shared& shared_;
  const int32_t process_;
  const Element& element_;
  Operands rest_;
  iovec there_[kMostPieces], here_[kMostPieces];
  size_t pieces_ = 0, count_ = 0;
  uint64_t stripe_ = 0;
  alignas(64) std::byte room_[kRoom];
};

int FarElements::Gathered::add(std::byte* at, size_t count) noexcept {
  const size_t extent = element_.extent, most = kRoom / extent;
  // A gap may belong to another rank.
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

int FarElements::Gathered::end() noexcept {
  if (pieces_ == 0) return MPI_SUCCESS;
  const HeldStripe held(shared_, static_cast<std::byte*>(there_[0].iov_base));
  if (held.code() != MPI_SUCCESS) return held.code();
  int error = btl::sm::cma_get(process_, here_, pieces_, there_, pieces_);
  if (error == 0) {
    apply_held(room_, count_, element_, rest_);
    if (rest_.in != nullptr) error = btl::sm::cma_put(process_, here_, pieces_, there_, pieces_);
  }
  rest_ = rest_.behind(count_ * element_.extent);
  pieces_ = count_ = 0;
  return error == 0 ? MPI_SUCCESS : fail_copy(process_, error);
}

int FarElements::apply(std::byte* at, size_t count, const Element& element,
                       const Operands& operands) noexcept {
  Gathered all(shared_, process_, element, operands);
  const int code = all.add(at, count);
  return code == MPI_SUCCESS ? all.end() : code;
}

int FarElements::apply(const iovec* pieces, size_t count, size_t packed, const Element& element,
                       const Operands& operands) noexcept {
  Gathered all(shared_, process_, element, operands);
  const int code =
      for_each_array(pieces, count, packed, element,
                     [&](std::byte* at, size_t elements) { return all.add(at, elements); });
  return code == MPI_SUCCESS ? all.end() : code;
}

int FarElements::compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                  const void* value, void* result) noexcept {
  const HeldStripe held(shared_, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  const iovec there{at, bytes}, old{result, bytes}, next{const_cast<void*>(value), bytes};
  int error = btl::sm::cma_get(process_, &old, 1, &there, 1);
  if (error == 0 && std::memcmp(result, compare, bytes) == 0)
    error = btl::sm::cma_put(process_, &next, 1, &there, 1);
  return error == 0 ? MPI_SUCCESS : fail_copy(process_, error);
}

}  // namespace tern::rma
