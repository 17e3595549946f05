// SPDX-License-Identifier: Apache-2.0
// Lines of definitions: fields between tabs. See: README.md.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace tern::trace {

/// line() escapes tabs, newlines and backslashes, and ends with a newline. Throws std::bad_alloc.
[[nodiscard]] inline std::string line(std::initializer_list<std::string_view> fields) {
  std::string text;
  for (const std::string_view field : fields) {
    if (!text.empty()) text += '\t';
    for (const char c : field) {
      if (c == '\t' || c == '\n' || c == '\\') text += '\\';
      text += c == '\t' ? 't' : c == '\n' ? 'n' : c;
    }
  }
  return text + '\n';
}

}  // namespace tern::trace
