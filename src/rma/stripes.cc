// SPDX-License-Identifier: Apache-2.0
// Stripes: changes elements in this process's memory under a stripe.
#include "rma/stripes.hpp"

#include <cstring>

#include "mpi.h"
#include "rma/held_stripe.hpp"

namespace tern::rma {

int MappedElements::apply(std::byte* at, size_t count, const Element& element,
                          const Operands& operands) noexcept {
  Operands rest = operands;
  while (count > 0) {
    const size_t few =
        HeldStripe::count_under(HeldStripe::place_of(shared_, at), count, element.extent);
    const HeldStripe held(shared_, at);
    if (held.code() != MPI_SUCCESS) return held.code();
    apply_held(at, few, element, rest);
    at += few * element.extent;
    rest = rest.behind(few * element.extent);
    count -= few;
  }
  return MPI_SUCCESS;
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

int MappedElements::compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                     const void* value, void* result) noexcept {
  const HeldStripe held(shared_, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  if (bytes == 8) return swap_held<uint64_t>(at, compare, value, result), MPI_SUCCESS;
  if (bytes == 4) return swap_held<uint32_t>(at, compare, value, result), MPI_SUCCESS;
  std::memcpy(result, at, bytes);
  if (std::memcmp(result, compare, bytes) == 0) std::memcpy(at, value, bytes);
  return MPI_SUCCESS;
}

}  // namespace tern::rma
