// SPDX-License-Identifier: Apache-2.0
#include "io/pointers.hpp"

#include "mpi.h"

namespace tern::io {
namespace {

Failure far_away() noexcept {
  return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                 "the shared file pointer is kept by rank 0, which is on another host; this "
                 "version supports shared file pointers on one host only");
}

}  // namespace

std::atomic<uint64_t>* Pointers::word() const noexcept {
  Board* const board = meeting_.board(0);
  return board == nullptr ? nullptr : &board->pointer;
}

Failure Pointers::add_shared(int64_t etypes, int64_t* before) noexcept {
  std::atomic<uint64_t>* const kept = word();
  if (kept == nullptr) return far_away();
  uint64_t seen = kept->load(std::memory_order_acquire);
  for (;;) {
    const uint64_t position = (seen & ~kMost) == tag() ? seen & kMost : 0;
    if (static_cast<uint64_t>(etypes) > kMost - position)
      return failure(MPI_ERR_ARG, "the shared file pointer would exceed 2^56 etypes");
    *before = static_cast<int64_t>(position);
    const uint64_t next = tag() | (position + static_cast<uint64_t>(etypes));
    if (etypes == 0 || kept->compare_exchange_weak(seen, next, std::memory_order_acq_rel))
      return {};
  }
}

Failure Pointers::set_shared(int64_t etypes) noexcept {
  std::atomic<uint64_t>* const kept = word();
  if (kept == nullptr) return far_away();
  if (static_cast<uint64_t>(etypes) > kMost)
    return failure(MPI_ERR_ARG, "the shared file pointer would exceed 2^56 etypes");
  kept->store(tag() | static_cast<uint64_t>(etypes), std::memory_order_release);
  return {};
}

}  // namespace tern::io
