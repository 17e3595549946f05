// SPDX-License-Identifier: Apache-2.0
// The facts as text and as JSON.
#pragma once

#include <string>

#include "tools/tern_info/facts.hpp"
#include "tools/tern_info/picture.hpp"

namespace tern::info {

[[nodiscard]] std::string summary_text(const Facts& facts, const Page& page);
/// report_text() omits empty sections.
[[nodiscard]] std::string report_text(const Facts& facts, const Page& page);
[[nodiscard]] std::string report_json(const Facts& facts);

[[nodiscard]] std::string fact_text(const std::string& name, const std::string& value,
                                    const Page& page);
[[nodiscard]] std::string parameter_text(const Parameter& parameter);

}  // namespace tern::info
