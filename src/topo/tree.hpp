// SPDX-License-Identifier: Apache-2.0
// The whole machine as a tree: packages, NUMA nodes, L3 caches, cores, PUs; and which of them this
// process may use.
// Why: a picture of the machine shows also what is not allowed, and a tree without hwloc's types
// can be drawn, compared and tested.
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
  int number = 0;       // packages, L3 and cores: counted over the machine; NUMA, PU: the system's
  uint64_t bytes = 0;   // of memory, of cache; 0 unknown
  bool allowed = true;  // of a PU: this process may run there
  std::vector<Part> parts;
};

struct Tree {
  Part machine;
  bool this_machine = true;  // false: made up by HWLOC_SYNTHETIC or HWLOC_XMLFILE
};

/// Throws tern::Error where hwloc cannot be loaded or does not understand the machine.
[[nodiscard]] Tree machine_tree();

/// "Package", "NUMA node", "L3", "Core", "PU".
[[nodiscard]] const char* name_of(Part::Kind kind) noexcept;
/// The numbers of the PUs inside, in order; with `allowed_only` those that may be used.
[[nodiscard]] std::vector<int> pus_of(const Part& part, bool allowed_only = false);
[[nodiscard]] size_t count_of(const Part& part, Part::Kind kind);
/// The same kinds, sizes and permissions in the same order, whatever the numbers.
[[nodiscard]] bool alike(const Part& a, const Part& b);

}  // namespace tern::topo
