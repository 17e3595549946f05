// SPDX-License-Identifier: Apache-2.0
// Paragraphs, and values with units.
#pragma once

#include <string>

#include "base/params.hpp"

namespace tern::info {

[[nodiscard]] std::string paragraph(const std::string& lead, const std::string& text,
                                    size_t columns);

/// Returns a parameter's value for people: "8192 (8 KiB)", "10 us", "1.5 s".
[[nodiscard]] std::string value_in_words(const std::string& kind, const std::string& value);

/// Returns "between 0 B and 64 KiB" or "one of auto, both"; empty without a range.
[[nodiscard]] std::string range_in_words(const ParamRow& row);

}  // namespace tern::info
