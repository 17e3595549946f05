// SPDX-License-Identifier: Apache-2.0
// Writes JSON: objects, lists, texts, numbers, booleans; two spaces per level.
#pragma once

#include <string>

#include "base/error.hpp"

namespace tern::info {

/// Returns "\"text\"", escaped for JSON; bytes above 127 count as UTF-8.
inline std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      quoted += strf("\\u%04x", c);
    else
      quoted += c;
  }
  return quoted + '"';
}

class Json {
 public:
  void open_object(const std::string& name = {}) { open(name, '{'); }
  void open_list(const std::string& name = {}) { open(name, '['); }
  void close_object() { close('}'); }
  void close_list() { close(']'); }
  void text(const std::string& name, const std::string& value) { item(name, json_text(value)); }
  void number(const std::string& name, unsigned long long value) {
    item(name, std::to_string(value));
  }
  void real(const std::string& name, double value) { item(name, strf("%.9g", value)); }
  void truth(const std::string& name, bool value) { item(name, value ? "true" : "false"); }
  [[nodiscard]] const std::string& document() const noexcept { return document_; }

 private:
  void item(const std::string& name, const std::string& value) {
    if (!first_) document_ += ',';
    if (depth_ > 0) document_ += '\n' + std::string(2 * depth_, ' ');
    if (!name.empty()) document_ += json_text(name) + ": ";
    document_ += value;
    first_ = false;
  }
  void open(const std::string& name, char bracket) {
    item(name, std::string(1, bracket));
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) document_ += '\n' + std::string(2 * depth_, ' ');
    document_ += bracket;
    if (depth_ == 0) document_ += '\n';
    first_ = false;
  }

  std::string document_;
  size_t depth_ = 0;
  bool first_ = true;
};

}  // namespace tern::info
