// SPDX-License-Identifier: Apache-2.0
// Tree: the whole machine (packages, NUMA nodes, L3 caches, cores, PUs) and the parts allowed for
// this process.
// Why: a picture of the machine includes disallowed parts. The tree has no hwloc types, so tests
// can compare trees.
// Cost: 5 to 20 ms. Threads: any. See: tests/unit/topo/tree_test.cc, tern_info(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tern::topo {

struct Part {
  enum class Kind { kMachine, kPackage, kNuma, kL3, kCore, kPu };
  Kind kind = Kind::kMachine;
  int number = 0;       // packages, L3, cores: over the machine; NUMA, PU: the system's number
  uint64_t bytes = 0;   // of memory or cache; 0: unknown
  bool allowed = true;  // of a PU: allowed for this process
  std::vector<Part> parts;
};

struct Tree {
  Part machine;
  bool this_machine = true;  // false: from HWLOC_SYNTHETIC or HWLOC_XMLFILE
};

/// Throws tern::Error if hwloc is missing or cannot read the machine.
[[nodiscard]] Tree machine_tree();

/// "Package", "NUMA node", "L3", "Core", "PU".
[[nodiscard]] const char* name_of(Part::Kind kind) noexcept;
/// PU numbers inside `part`, in order.
[[nodiscard]] std::vector<int> pus_of(const Part& part, bool allowed_only = false);
[[nodiscard]] size_t count_of(const Part& part, Part::Kind kind);
/// Compares kinds, sizes and permissions, but not numbers.
[[nodiscard]] bool alike(const Part& a, const Part& b);

}  // namespace tern::topo
