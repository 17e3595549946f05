// SPDX-License-Identifier: Apache-2.0
// TERN_EXPLAIN: what was chosen and why, as sentences on stderr or as lines of JSON in a file.
// Why: "why is it slow" has an answer without a debugger; nothing is slow in silence.
// Threads: any (a line is one write). See: man7/tern_troubleshooting, tests/mpi/explain.sh.
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

  /// `setting` is TERN_EXPLAIN's value. Throws Error where json:FILE cannot be opened.
  void configure(const std::string& setting, int rank);
  [[nodiscard]] bool on() const noexcept { return on_; }

  /// One thing: its topic and fields for programs, its sentence for people.
  TERN_COLD void say(const char* topic, std::initializer_list<Field> fields,
                     const std::string& sentence) const noexcept;
  /// The same, but said to people in any case: a fallback that costs them.
  TERN_COLD void warn(const char* topic, std::initializer_list<Field> fields,
                      const std::string& sentence) const noexcept;

 private:
  void write_json(const char* topic, std::initializer_list<Field> fields,
                  const std::string& sentence) const;

  bool on_ = false;
  int rank_ = -1;
  Fd file_;
};

/// "8 KiB", "3.5 MiB", "12 B": at most three digits.
[[nodiscard]] std::string bytes_in_words(unsigned long long bytes);

}  // namespace tern
