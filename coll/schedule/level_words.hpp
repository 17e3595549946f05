// SPDX-License-Identifier: Apache-2.0
// LevelWords: values of TERN_COLL_LEVELS and tern_coll --levels: sizes of groups of consecutive
// ranks, outermost first (8,2); a machine filled in rank order, in hwloc's syntax (pack:2 l3:2
// core:4); or parts of the ranks' machine (package,l3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/tree.hpp"

namespace tern::coll {

struct LevelWords {
  std::vector<int32_t> sizes;
  std::vector<topo::MachinePart::Kind> parts;  // outermost first
  [[nodiscard]] bool empty() const noexcept { return sizes.empty() && parts.empty(); }
};

/// The thrown Error mentions `name`, the parameter or option.
[[nodiscard]] LevelWords level_words(const std::string& text, const char* name);

}  // namespace tern::coll
