// SPDX-License-Identifier: Apache-2.0
// ProcessSet: the launcher's named sets of ranks, as text (MPI-5.0 section 11.3.2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern::boot {

struct ProcessSet {
  std::string name;
  std::vector<int> ranks;  // ascending, unique, not empty
  bool operator==(const ProcessSet&) const = default;
};

/// mpirun stores its sets under this key of rank 0.
inline constexpr std::string_view kSetsKey = "tern.sets";

/// The text has a line per set: runs of ranks, a blank, the name.
[[nodiscard]] std::string write_sets(const std::vector<ProcessSet>& sets);
/// read_sets() skips invalid lines and ranks.
[[nodiscard]] std::vector<ProcessSet> read_sets(std::string_view text, int size);

}  // namespace tern::boot
