// SPDX-License-Identifier: Apache-2.0
// Tree: the whole machine (packages, NUMA nodes, L3 caches, cores, PUs), including disallowed
// parts, without hwloc's types. Cost: 5 to 20 ms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tern::topo {

struct MachinePart {
  enum class Kind { kMachine, kPackage, kNuma, kL3, kCore, kPu };
  Kind kind = Kind::kMachine;
  int number = 0;
  uint64_t bytes = 0;  // memory or cache; 0: unknown
  bool allowed = true;
  std::vector<MachinePart> parts;
};

struct Tree {
  MachinePart machine;
  bool this_machine = true;
};

[[nodiscard]] Tree machine_tree();

[[nodiscard]] const char* name_of(MachinePart::Kind kind) noexcept;
[[nodiscard]] std::vector<int> pus_of(const MachinePart& part, bool allowed_only = false);
[[nodiscard]] size_t count_of(const MachinePart& part, MachinePart::Kind kind);
/// alike() ignores numbers.
[[nodiscard]] bool alike(const MachinePart& a, const MachinePart& b);

}  // namespace tern::topo
