// SPDX-License-Identifier: Apache-2.0
// The parser of options and the table that it reads.
// Errors: parse_options() throws tern::Error with a sentence that names the word, its value and the
// nearest one.
// Why a table of our own: people type "-np 4" and "-genv NAME VALUE"; libraries for command lines
// read the first as "-n p 4" and know no option of two words.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

// `words` is argv without argv[0].
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);

// The text of --help, made from the same table as the parser.
[[nodiscard]] std::string help_text();

// An option of another launcher without influence on results: taken with its values, with a remark.
struct WithoutEffect {
  const char* names;  // as in OptionRow
  int values;
  const char* why;  // what it would do elsewhere, or what Tern does
};

class OptionParser {
 public:
  explicit OptionParser(Options& into) : options(into) {}

  // Sections between ':'. `place` is where the words stand ("hosts.app:3"), for messages.
  void parse(const std::vector<std::string>& words, const std::string& place = {});

  // For the functions of the table.
  [[noreturn]] void refuse(const std::string& why) const;
  [[nodiscard]] int number(const char* text, const char* of_what, int least, int most) const;
  [[nodiscard]] double seconds(const char* text) const;
  void variable(const std::string& name, const std::string& value);
  void inherited_variable(const std::string& name) const;
  void app_file(const char* path);

  Options& options;
  App app{};

 private:
  void app_section(const std::string& text, const std::string& place) const;
  std::size_t take_option(const std::vector<std::string>& words, std::size_t at);
  void note_without_effect(const WithoutEffect& row) const;
  void end_section(const std::vector<std::string>& words, std::size_t begin, std::size_t at);
  [[nodiscard]] std::string at_place(const std::string& text) const;

  std::string option_;  // as typed, for messages
  std::string place_;
  bool read_app_file_ = false;
};

struct OptionRow {
  const char* names;  // separated by spaces, without dashes; the first is the one in messages
  int values;         // how many words follow
  const char* shown;  // for --help; nullptr: taken, but not shown
  const char* meaning;
  void (*act)(OptionParser&, const char* const* values);
};

struct OptionTable {
  const OptionRow* begin_;
  const OptionRow* end_;
  [[nodiscard]] const OptionRow* begin() const noexcept { return begin_; }
  [[nodiscard]] const OptionRow* end() const noexcept { return end_; }
};
[[nodiscard]] OptionTable option_table() noexcept;

// nullptr: no option has that name.
[[nodiscard]] const WithoutEffect* option_without_effect(const std::string& name) noexcept;

// What to do instead of another launcher's option; nullptr: no launcher has such an option.
[[nodiscard]] const char* answer_to_elsewhere(const std::string& name) noexcept;

// Whether `names` (separated by spaces) contains the whole `name`.
[[nodiscard]] bool names_contain(const char* names, const std::string& name) noexcept;

// Values of several options, each refused by OptionParser::refuse().
void parse_bind_to(OptionParser& parser, const std::string& text);
void parse_map_by(OptionParser& parser, const std::string& text);
void parse_rank_by(OptionParser& parser, const std::string& text);
void parse_soft(const OptionParser& parser, const std::string& text);
void parse_memory_kinds(const OptionParser& parser, const std::string& text);

// The lines of a file, without their ends. Throws tern::Error where it cannot be read.
[[nodiscard]] std::vector<std::string> read_lines(const std::string& path);

// The words of one line as a shell would cut them: quotes, backslashes, # comments. Throws
// tern::Error where a quote is not closed.
[[nodiscard]] std::vector<std::string> split_words(const std::string& line);

}  // namespace tern::mpirun
