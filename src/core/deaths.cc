// SPDX-License-Identifier: Apache-2.0
#include "core/deaths.hpp"

#include "mpix.h"

namespace tern::core {

void Deaths::admit(uint32_t most) {
  indices_ = std::make_unique<std::atomic<uint32_t>[]>(most);
  most_ = most;
}

void Deaths::forget_all() noexcept {
  count_ = 0;
  most_ = 0;
}

void Deaths::add(uint32_t peer_index) noexcept {
  const uint32_t position = count_.load(std::memory_order_relaxed);
  if (position == most_) return;
  indices_[position] = peer_index;
  count_.store(position + 1, std::memory_order_release);
}

bool Deaths::has(uint32_t peer_index) const noexcept {
  for (uint32_t i = count(); i > 0; --i)
    if (at(i - 1) == peer_index) return true;
  return false;
}

int Deaths::lost_class(int without_tolerance) const noexcept {
  return tolerated() ? MPIX_ERR_PROC_FAILED : without_tolerance;
}

}  // namespace tern::core
