// SPDX-License-Identifier: Apache-2.0
// Process sets: names that the launcher has for some of the ranks, and how they travel as text.
// Why: MPI's sessions make communicators of them. What comes from outside is not believed.
// Threads: any. See: MPI-5.0 section 11.3.2, tests/unit/boot/process_set_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern::boot {

struct ProcessSet {
  std::string name;
  std::vector<int> ranks;  // ascending, each once, at least one
  bool operator==(const ProcessSet&) const = default;
};

/// Under this key mpirun puts its sets, as rank 0's.
inline constexpr std::string_view kSetsKey = "tern.sets";

/// A line for each: runs of ranks, a blank, the name, which has no end of line in it.
[[nodiscard]] std::string write_sets(const std::vector<ProcessSet>& sets);
/// Lines that are no set are left out, and so is what is no rank of a job of `size`.
[[nodiscard]] std::vector<ProcessSet> read_sets(std::string_view text, int size);

}  // namespace tern::boot
