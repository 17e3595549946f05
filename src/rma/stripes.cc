// SPDX-License-Identifier: Apache-2.0
// Stripes: elements of this process' memory, changed while a stripe is held.
#include "rma/stripes.hpp"

#include <cstring>

#include "mpi.h"
#include "rma/device_elements.hpp"
#include "rma/far_elements.hpp"
#include "rma/held_stripe.hpp"

namespace tern::rma {

int apply(const Shared& shared, std::byte* at, size_t count, const Element& element,
          const Operands& operands) noexcept {
  if (shared.process != 0) {
    FarElements far(shared, element, operands);
    const int code = far.add(at, count);
    return code == MPI_SUCCESS ? far.end() : code;
  }
  if (shared.device != nullptr) return apply_on_device(shared, at, count, element, operands);
  Operands rest = operands;
  while (count > 0) {
    const size_t few =
        HeldStripe::count_under(HeldStripe::place_of(shared, at), count, element.extent);
    const HeldStripe held(shared, at);
    if (held.code() != MPI_SUCCESS) return held.code();
    apply_held(at, few, element, rest);
    at += few * element.extent;
    rest = rest.behind(few * element.extent);
    count -= few;
  }
  return MPI_SUCCESS;
}

namespace {

/// Calls `body(at, count)` for elements that follow each other, until it fails.
template <class Body>
int for_each_array(const iovec* pieces, size_t count, size_t packed, const Element& element,
                   Body&& body) noexcept {
  for (size_t i = 0; i < count; packed += pieces[i].iov_len, ++i) {
    auto* const piece = static_cast<std::byte*>(pieces[i].iov_base);
    size_t skipped = (packed + element.size - 1) / element.size * element.size - packed;
    while (skipped < pieces[i].iov_len) {
      const size_t elements = element.padded() ? 1 : (pieces[i].iov_len - skipped) / element.size;
      if (elements == 0) break;
      if (const int code = body(piece + skipped, elements); code != MPI_SUCCESS) return code;
      skipped += elements * element.size;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace

int apply(const Shared& shared, const iovec* pieces, size_t count, size_t packed,
          const Element& element, const Operands& operands) noexcept {
  if (shared.process != 0) {
    FarElements far(shared, element, operands);
    const int code =
        for_each_array(pieces, count, packed, element,
                       [&](std::byte* at, size_t elements) { return far.add(at, elements); });
    return code == MPI_SUCCESS ? far.end() : code;
  }
  Operands rest = operands;
  return for_each_array(pieces, count, packed, element, [&](std::byte* at, size_t elements) {
    const int code = apply(shared, at, elements, element, rest);
    rest = rest.behind(elements * element.extent);
    return code;
  });
}

namespace {

template <class Word>
void swap_held(std::byte* at, const void* compare, const void* value, void* result) noexcept {
  Word there, wanted;
  std::memcpy(&there, at, sizeof there);
  std::memcpy(&wanted, compare, sizeof wanted);
  if (there == wanted) std::memcpy(at, value, sizeof there);
  std::memcpy(result, &there, sizeof there);
}

}  // namespace

int compare_and_swap(const Shared& shared, std::byte* at, size_t bytes, const void* compare,
                     const void* value, void* result) noexcept {
  const HeldStripe held(shared, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  if (shared.device != nullptr) return swap_on_device(shared, at, bytes, compare, value, result);
  if (shared.process != 0) return compare_and_swap_far(shared, at, bytes, compare, value, result);
  if (bytes == 8) return swap_held<uint64_t>(at, compare, value, result), MPI_SUCCESS;
  if (bytes == 4) return swap_held<uint32_t>(at, compare, value, result), MPI_SUCCESS;
  std::memcpy(result, at, bytes);
  if (std::memcmp(result, compare, bytes) == 0) std::memcpy(at, value, bytes);
  return MPI_SUCCESS;
}

}  // namespace tern::rma
