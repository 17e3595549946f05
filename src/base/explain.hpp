// SPDX-License-Identifier: Apache-2.0
// TERN_EXPLAIN: choices and reasons, as sentences on stderr or JSON lines. Threads: any (a line is
// one write). See: man7/tern_troubleshooting, tests/mpi/explain.sh.
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

  /// Throws Error if json:FILE cannot be opened.
  void configure(const std::string& setting, int rank);
  [[nodiscard]] bool on() const noexcept { return on_; }

  /// Topic and fields for programs, a sentence for people.
  TERN_COLD void say(const char* topic, std::initializer_list<Field> fields,
                     const std::string& sentence) const noexcept;
  /// Always prints the sentence: a fallback with a cost.
  TERN_COLD void warn(const char* topic, std::initializer_list<Field> fields,
                      const std::string& sentence) const noexcept;

 private:
  void write_json(const char* topic, std::initializer_list<Field> fields,
                  const std::string& sentence) const;

  bool on_ = false;
  int rank_ = -1;
  Fd file_;
};

/// "8 KiB", "3.5 MiB": at most three digits.
[[nodiscard]] std::string bytes_in_words(unsigned long long bytes);

}  // namespace tern
