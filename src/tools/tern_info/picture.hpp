// SPDX-License-Identifier: Apache-2.0
// Pictures of the machine: nested boxes as text, and SVG.
#pragma once

#include <cstddef>
#include <string>

#include "tools/tern_info/facts.hpp"
#include "topo/tree.hpp"

namespace tern::info {

struct Page {
  size_t columns = 80;
  bool utf8 = false;
};

/// Returns the terminal's width between 60 and 120 columns, 80 without a terminal; UTF-8 by the
/// locale.
[[nodiscard]] Page page_here();

/// draw_text() draws equal neighbours once if the machine has more than 32 PUs.
[[nodiscard]] std::string draw_text(const topo::Tree& tree, const Page& page);
[[nodiscard]] std::string draw_links_svg(const GpuLinks& links);
[[nodiscard]] std::string draw_svg(const topo::Tree& tree);

}  // namespace tern::info
