// SPDX-License-Identifier: Apache-2.0
// Tree: the whole machine (packages, NUMA nodes, L3 caches, cores, PUs), including disallowed
// parts, without hwloc's types.
// Cost: 5 to 20 ms. Threads: any. See: tests/unit/topo/tree_test.cc, tern_info(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tern::topo {

struct MachinePart {
  enum class Kind { kMachine, kPackage, kNuma, kL3, kCore, kPu };
  Kind kind = Kind::kMachine;
  int number = 0;      // NUMA, PU: the system's number
  uint64_t bytes = 0;  // memory or cache; 0: unknown
  bool allowed = true;
  std::vector<MachinePart> parts;
};

struct Tree {
  MachinePart machine;
  bool this_machine = true;  // false: from HWLOC_SYNTHETIC or HWLOC_XMLFILE
};

/// Throws tern::Error.
[[nodiscard]] Tree machine_tree();

/// "Package", "NUMA node", "L3", "Core", "PU".
[[nodiscard]] const char* name_of(MachinePart::Kind kind) noexcept;
[[nodiscard]] std::vector<int> pus_of(const MachinePart& part, bool allowed_only = false);
[[nodiscard]] size_t count_of(const MachinePart& part, MachinePart::Kind kind);
/// Ignores numbers.
[[nodiscard]] bool alike(const MachinePart& a, const MachinePart& b);

}  // namespace tern::topo
