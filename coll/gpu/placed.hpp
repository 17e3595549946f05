// SPDX-License-Identifier: Apache-2.0
// Placed: a lowered schedule, with all slots and semaphores placed in a team's scratch.
// Why: a lowered schedule numbers slots and semaphores per rank, the scratch per pair of ranks, so
// consecutive schedules may differ.
// Lifetime: the team's; immutable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/gpu/layout.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Placed {
  struct SlotPlace {
    int32_t owner = 0, from = 0;
    int32_t before = 0;  // blocks of earlier messages in the region
  };
  struct Word {
    int32_t owner = 0, other = 0;  // the semaphore's rank; the rank at the other end
    int32_t message = 0;           // index in the pair's messages, or kCredit
  };
  static constexpr int32_t kCredit = -1;

  Schedule schedule;
  std::vector<SlotPlace> places;
  std::vector<Word> words;
  // Maxima over all ranks:
  int32_t most_blocks = 0;
  int32_t most_messages = 0;
  int32_t local_blocks = 0;  // blocks of stages and mirrors
  bool single_blocks = true;

  const Algorithm* row = nullptr;  // null for TeamSchedules::exchange()
  [[nodiscard]] bool has(Trait trait) const noexcept {
    return row != nullptr && (row->traits & trait) != 0;
  }
};

/// place() returns false with *why on all ranks if the layout is too small.
[[nodiscard]] bool place(const std::vector<Schedule>& lowered, int rank, Placed* placed,
                         std::string* why);

}  // namespace tern::coll
