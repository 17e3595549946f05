// SPDX-License-Identifier: Apache-2.0
// Breaks lines between words, and adds units by the kind of parameter.
#include "tools/tern_info/words.hpp"

#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/explain.hpp"

namespace tern::info {

std::string paragraph(const std::string& lead, const std::string& text, size_t columns) {
  std::string whole, line = lead;
  size_t from = 0;
  bool fresh = true;
  while (from < text.size()) {
    const size_t space = text.find(' ', from);
    const std::string word = text.substr(from, space - from);
    if (!fresh && line.size() + 1 + word.size() > columns) {
      whole += line + '\n';
      line = std::string(lead.size(), ' ');
      fresh = true;
    }
    line += (fresh ? "" : " ") + word;
    fresh = false;
    from = space == std::string::npos ? text.size() : space + 1;
  }
  return whole + line + '\n';
}

namespace {

/// Bounds of Seconds are in microseconds, as the values in Params.
std::string bound_in_words(const char* kind, long long bound) {
  if (std::strcmp(kind, "Seconds") == 0) return strf("%g s", static_cast<double>(bound) / 1e6);
  return std::strcmp(kind, "Size") == 0 ? bytes_in_words(static_cast<unsigned long long>(bound))
                                        : value_in_words(kind, std::to_string(bound));
}

}  // namespace

std::string value_in_words(const std::string& kind, const std::string& value) {
  if (value.empty()) return "(empty)";
  const long long number = std::atoll(value.c_str());
  if (kind == "Size" && number >= 1024)
    return value + " (" + bytes_in_words(static_cast<unsigned long long>(number)) + ")";
  if (kind == "Size") return value + " B";
  if (kind == "Time") return value + " us";
  if (kind == "Seconds") {
    const size_t unit = value.find_first_not_of("0123456789");
    return unit == std::string::npos ? value + " s"
                                     : value.substr(0, unit) + " " + value.substr(unit);
  }
  return value;
}

std::string range_in_words(const ParamRow& row) {
  if (!row.is_number()) return row.range_in_words();
  return strf("between %s and %s", bound_in_words(row.kind, row.range.least).c_str(),
              bound_in_words(row.kind, row.range.most).c_str());
}

}  // namespace tern::info
