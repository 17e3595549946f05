// SPDX-License-Identifier: Apache-2.0
// Classes: an equitable partition of ranks and links. Ranks of a class have one outline, n-th peers
// of one class and one way back, and routes over links of the same classes. Links of a class carry
// equal numbers of flows of each kind. Max-min fair rates are unique, so all ranks of a class act
// at the same times, and a representative runs for the class. Found by colour refinement (Cardon,
// Crochemore 1982) with colours of 64 bits. Cost: ranks x peers x route, per round; as many rounds
// as colours travel.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/laboratory/simulate/pattern.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {

struct Classes {
  std::vector<int32_t> of;     // class of a rank
  std::vector<int32_t> first;  // representative of a class
  std::vector<int32_t> size;
  std::vector<int32_t> of_link;
  std::vector<int32_t> link_size;  // of a class of links
  std::vector<int32_t> first_link;

  [[nodiscard]] int32_t count() const noexcept { return static_cast<int32_t>(first.size()); }
  /// Every rank and link is a class.
  [[nodiscard]] static Classes singles(const Pattern& pattern, const Topology& topology);
  [[nodiscard]] static Classes coarsest(const Pattern& pattern, const Topology& topology,
                                        Routes& routes);
};

}  // namespace tern::coll
