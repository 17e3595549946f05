// SPDX-License-Identifier: Apache-2.0
// The parser of options and its table.
// Errors: parse_options() and parse_request() throw tern::Error with the word, its value and the
// nearest name.
#pragma once

#include <string>
#include <vector>

#include "boot/spawn_request.hpp"
#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

[[nodiscard]] Options parse_options(const std::vector<std::string>& words);

/// The options of programs that a rank starts.
[[nodiscard]] Options parse_request(const boot::SpawnRequest& request);

[[nodiscard]] std::string help_text();

// Another launcher's option without influence on results: accepted with its values and a remark.
struct WithoutEffect {
  const char* names;
  int values;
  const char* why;
};

class OptionParser {
 public:
  explicit OptionParser(Options& into) : options(into) {}

  // Parses sections between ':'. `place`: origin of the words ("hosts.app:3"), for messages.
  void parse(const std::vector<std::string>& words, const std::string& place = {});

  [[noreturn]] void refuse(const std::string& why) const;
  [[nodiscard]] int number(const char* text, const char* of_what, int least, int most) const;
  [[nodiscard]] double seconds(const char* text) const;
  /// Adds a variable to the environment. Values of TERN_COLL and TERN_TEST add up.
  void variable(Pairs* pairs, const std::string& name, const std::string& value);
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

  std::string option_;
  std::string place_;
  bool read_app_file_ = false;
};

inline constexpr int kOptional = -1;

struct OptionRow {
  const char* names;  // separated by spaces, without dashes; messages use the first
  int values;         // kOptional: one behind '=', or none
  const char* shown;  // for --help; nullptr: hidden
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

[[nodiscard]] const WithoutEffect* option_without_effect(const std::string& name) noexcept;

[[nodiscard]] const char* answer_to_elsewhere(const std::string& name) noexcept;

[[nodiscard]] bool names_contain(const char* names, const std::string& name) noexcept;

void parse_bind_to(OptionParser& parser, const std::string& text);
void parse_map_by(OptionParser& parser, const std::string& text);
void parse_rank_by(OptionParser& parser, const std::string& text);
void parse_soft(const OptionParser& parser, const std::string& text);
void parse_memory_kinds(const OptionParser& parser, const std::string& text);

// Returns lines without line ends. Throws tern::Error.
[[nodiscard]] std::vector<std::string> read_lines(const std::string& path);

// Splits a line as a shell does: quotes, backslashes, # comments. Throws tern::Error for an open
// quote.
[[nodiscard]] std::vector<std::string> split_words(const std::string& line);

}  // namespace tern::mpirun
