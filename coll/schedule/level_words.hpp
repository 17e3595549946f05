// SPDX-License-Identifier: Apache-2.0
// LevelWords: what TERN_COLL_LEVELS and tern_coll --levels say of the machine, in one of three
// ways: sizes of groups of consecutive ranks, outermost first (8,2); a description of a machine
// whose smallest parts the ranks fill in turn, in hwloc's synthetic syntax (pack:2 l3:2 core:4);
// kinds of parts that the ranks' own machine has (package,l3).
// Threads: any. See: tests/unit/coll/places_test.cc; coll/engine/places.hpp (what becomes of them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/tree.hpp"

namespace tern::coll {

struct LevelWords {
  std::vector<int32_t> sizes;
  std::vector<topo::Part::Kind> parts;  // outermost first
  [[nodiscard]] bool empty() const noexcept { return sizes.empty() && parts.empty(); }
};

/// `name` is the parameter's or option's, for the Error that it throws.
[[nodiscard]] LevelWords level_words(const std::string& text, const char* name);

}  // namespace tern::coll
