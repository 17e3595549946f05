// SPDX-License-Identifier: Apache-2.0
// The facts as text for people and as JSON for programs.
#pragma once

#include <string>

#include "tools/tern_info/facts.hpp"
#include "tools/tern_info/picture.hpp"

namespace tern::info {

/// Sections without facts are left out.
[[nodiscard]] std::string report_text(const Facts& facts, const Page& page);
[[nodiscard]] std::string report_json(const Facts& facts);

}  // namespace tern::info
