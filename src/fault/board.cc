// SPDX-License-Identifier: Apache-2.0
#include "fault/board.hpp"

#include <algorithm>

namespace tern::fault {

uint32_t DeathList::add(uint32_t process) noexcept {
  for (uint32_t i = 0; i < cells_.size(); ++i) {
    uint32_t found = 0;
    if (cells_[i].compare_exchange_strong(found, process + 1, std::memory_order_acq_rel) ||
        found == process + 1)
      return i;
  }
  return static_cast<uint32_t>(cells_.size());
}

bool DeathList::has(uint32_t process, uint32_t length) const noexcept {
  for (uint32_t i = 0; i < length; ++i)
    if (at(i) == process) return true;
  return false;
}

bool SharedBoard::is_dead(int member) noexcept {
  const uint32_t process = processes_[static_cast<size_t>(member)];
  if (list_.has(process, deaths())) return true;
  if (query_.has_ended == nullptr || !query_.has_ended(query_.self, process)) return false;
  list_.add(process);
  return true;
}

int SharedBoard::dead_member(uint32_t position) const noexcept {
  const auto found = std::find(processes_.begin(), processes_.end(), list_.at(position));
  return found == processes_.end() ? -1 : static_cast<int>(found - processes_.begin());
}

}  // namespace tern::fault
