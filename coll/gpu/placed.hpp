// SPDX-License-Identifier: Apache-2.0
// Placed: a lowered schedule whose slots and words have places in the scratch of a team.
// Why: a lowered schedule numbers a rank's inbox slots and words as if it were alone; the scratch
// gives each pair of ranks a region and words of its own, so that schedules that follow each other
// may differ. All of that is known once for a shape, and a pass does no more than add addresses.
// Lifetime: of a team; immutable. See: coll/lower/lower.hpp, coll/gpu/layout.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/gpu/layout.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

struct Placed {
  /// Of an inbox slice: whose scratch, the region of which sender, and where in it.
  struct Place {
    int32_t owner = 0, from = 0;
    int32_t before = 0;  // blocks of the messages before it
  };
  /// Of a signal or wait.
  struct Word {
    int32_t owner = 0, other = 0;  // where it lies; the rank at the other end
    int32_t message = 0;           // of the edge; kCredit: its credit
  };
  static constexpr int32_t kCredit = -1;

  Schedule schedule;          // the own rank's, one lane
  std::vector<Place> places;  // by slice
  std::vector<Word> words;    // by step
  // The most of all ranks:
  int32_t most_blocks = 0;    // that one rank sends another in a pass
  int32_t most_messages = 0;  // that one rank sends another in a pass
  int32_t local_blocks = 0;   // of stages and mirrors
  bool single_blocks = true;  // no slice has several, but for those of vectors

  const Algorithm* row = nullptr;  // null: no row (TeamSchedules::exchange())
  [[nodiscard]] bool has(Trait trait) const noexcept {
    return row != nullptr && (row->traits & trait) != 0;
  }
};

[[nodiscard]] int32_t blocks_of_mirror(const Schedule& schedule) noexcept;

/// `lowered[r]` is rank r's; *why where the layout does not hold it, which all ranks find alike.
[[nodiscard]] bool place(const std::vector<Schedule>& lowered, int rank, Placed* placed,
                         std::string* why);

}  // namespace tern::coll
