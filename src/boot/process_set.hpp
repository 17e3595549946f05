// SPDX-License-Identifier: Apache-2.0
// ProcessSet: the launcher's named sets of ranks, as text.
// Threads: any. See: MPI-5.0 section 11.3.2, tests/unit/boot/process_set_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern::boot {

struct ProcessSet {
  std::string name;
  std::vector<int> ranks;  // ascending, unique, at least one
  bool operator==(const ProcessSet&) const = default;
};

/// Key of mpirun's sets, stored for rank 0.
inline constexpr std::string_view kSetsKey = "tern.sets";

/// A line per set: runs of ranks, a blank, the name.
[[nodiscard]] std::string write_sets(const std::vector<ProcessSet>& sets);
/// Skips invalid lines and ranks.
[[nodiscard]] std::vector<ProcessSet> read_sets(std::string_view text, int size);

}  // namespace tern::boot
