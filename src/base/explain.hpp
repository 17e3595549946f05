// SPDX-License-Identifier: Apache-2.0
// TERN_EXPLAIN: choices and reasons, as sentences on stderr or JSON lines. Threads: any, because a
// line is a single write. See: man7/tern_troubleshooting.
#pragma once

#include <initializer_list>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace tern {

class Explain {
 public:
  struct Field {
    Field(const char* field, const std::string& text) : name(field), value(text) {}
    Field(const char* field, const char* text) : name(field), value(text) {}
    Field(const char* field, unsigned long long count)
        : name(field), value(std::to_string(count)), number(true) {}
    const char* name;
    std::string value;
    bool number = false;
  };

  void configure(const std::string& setting, int rank);
  [[nodiscard]] bool on() const noexcept { return on_; }

  TERN_COLD void say(const char* topic, std::initializer_list<Field> fields,
                     const std::string& sentence) const noexcept;
  /// Always prints the sentence, for a fallback with a cost.
  TERN_COLD void warn(const char* topic, std::initializer_list<Field> fields,
                      const std::string& sentence) const noexcept;

 private:
  void write_json(const char* topic, std::initializer_list<Field> fields,
                  const std::string& sentence) const;

  bool on_ = false;
  int rank_ = -1;
  Fd file_;
};

[[nodiscard]] std::string bytes_in_words(unsigned long long bytes);

}  // namespace tern
