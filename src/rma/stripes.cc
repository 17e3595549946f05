// SPDX-License-Identifier: Apache-2.0
// Stripes: taken by spinning, for a holder leaves at once; what waits long leaves the core, and
// asks whether the holder lives.
#include "rma/stripes.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/ended.hpp"
#include "base/error.hpp"
#include "core/datatype.hpp"
#include "mpi.h"

namespace tern::rma {
namespace {

using Word = std::atomic<int32_t>;

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class HeldStripe {
 public:
  HeldStripe(const Shared& shared, const std::byte* at) noexcept
      : word_(shared.control.stripe(static_cast<uint64_t>(at - shared.origin)).holder) {
    int32_t holder = 0;
    if (!word_.compare_exchange_strong(holder, shared.holder, std::memory_order_acquire,
                                       std::memory_order_relaxed))
      code_ = take_late(shared.holder);
  }
  HeldStripe(const HeldStripe&) = delete;
  HeldStripe& operator=(const HeldStripe&) = delete;
  ~HeldStripe() {
    if (code_ == MPI_SUCCESS) word_.store(0, std::memory_order_release);
  }
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  [[nodiscard]] TERN_COLD int take_late(int32_t mine) noexcept;

  Word& word_;
  int code_ = MPI_SUCCESS;
};

int HeldStripe::take_late(int32_t mine) noexcept {
  constexpr uint32_t kSpins = 100, kRoundsBetweenLooks = 4096;
  for (uint32_t round = 1;; ++round) {
    int32_t holder = word_.load(std::memory_order_relaxed);
    if (holder == 0 && word_.compare_exchange_weak(holder, mine, std::memory_order_acquire,
                                                   std::memory_order_relaxed))
      return MPI_SUCCESS;
    if (round % kRoundsBetweenLooks == 0 && holder != 0 && has_ended(holder))
      return fail(MPI_ERR_OTHER,
                  "a process (pid %d) ended while it wrote to the target's memory, whose elements "
                  "there may be half written",
                  holder);
    if (round < kSpins)
      pause();
    else
      ::sched_yield();
  }
}

/// One by one: elements with a gap at their end, for the last one's gap may be outside the window,
/// and those that are not aligned.
void apply_singly(std::byte* at, size_t count, const Element& element, const std::byte* in,
                  std::byte* result) noexcept {
  alignas(16) std::byte here[Element::kMostExtent] = {}, operand[Element::kMostExtent] = {};
  for (size_t i = 0; i < count; ++i, at += element.extent) {
    std::memcpy(here, at, element.span);
    if (result != nullptr) std::memcpy(result + i * element.extent, here, element.span);
    if (in == nullptr) continue;
    std::memcpy(operand, in + i * element.extent, element.span);
    element.loop(operand, here, 1);
    std::memcpy(at, here, element.span);
  }
}

}  // namespace

Element element_of(core::Op::Loop loop, const core::Datatype& basic) noexcept {
  const auto extent = static_cast<size_t>(basic.extent());
  TERN_ASSERT(extent <= Element::kMostExtent);
  return {loop, static_cast<size_t>(basic.size()), extent,
          static_cast<size_t>(basic.true_lb() + basic.true_extent()),
          static_cast<size_t>(basic.alignment())};
}

int apply(const Shared& shared, std::byte* at, size_t count, const Element& element,
          const Operands& operands) noexcept {
  constexpr uint64_t kStripeBytes = uint64_t{1} << Control::kStripeShift;
  const std::byte* in = operands.in;
  std::byte* result = operands.result;
  while (count > 0) {
    const auto place = static_cast<uint64_t>(at - shared.origin);
    const size_t room = kStripeBytes - place % kStripeBytes;
    const size_t few = std::clamp<size_t>(room / element.extent, 1, count);
    const size_t bytes = few * element.extent;
    const HeldStripe held(shared, at);
    if (held.code() != MPI_SUCCESS) return held.code();
    if (element.span != element.extent || !element.is_aligned(at) || !element.is_aligned(in)) {
      apply_singly(at, few, element, in, result);
    } else {
      if (result != nullptr) std::memcpy(result, at, bytes);
      if (in != nullptr) element.loop(in, at, few);
    }
    at += bytes;
    in = in == nullptr ? nullptr : in + bytes;
    result = result == nullptr ? nullptr : result + bytes;
    count -= few;
  }
  return MPI_SUCCESS;
}

int apply(const Shared& shared, const iovec* pieces, size_t count, size_t packed,
          const Element& element, const Operands& operands) noexcept {
  const size_t first = (packed + element.size - 1) / element.size;
  const auto from = [&](size_t index) {
    const size_t offset = (index - first) * element.extent;
    return Operands{operands.in == nullptr ? nullptr : operands.in + offset,
                    operands.result == nullptr ? nullptr : operands.result + offset};
  };
  for (size_t i = 0; i < count; packed += pieces[i].iov_len, ++i) {
    auto* const piece = static_cast<std::byte*>(pieces[i].iov_base);
    size_t skipped = (packed + element.size - 1) / element.size * element.size - packed;
    while (skipped < pieces[i].iov_len) {
      const size_t elements = element.padded() ? 1 : (pieces[i].iov_len - skipped) / element.size;
      if (elements == 0) break;
      const int code = apply(shared, piece + skipped, elements, element,
                             from((packed + skipped) / element.size));
      if (code != MPI_SUCCESS) return code;
      skipped += elements * element.size;
    }
  }
  return MPI_SUCCESS;
}

int compare_and_swap(const Shared& shared, std::byte* at, size_t bytes, const void* compare,
                     const void* value, void* result) noexcept {
  const HeldStripe held(shared, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  std::memcpy(result, at, bytes);
  if (std::memcmp(result, compare, bytes) == 0) std::memcpy(at, value, bytes);
  return MPI_SUCCESS;
}

}  // namespace tern::rma
