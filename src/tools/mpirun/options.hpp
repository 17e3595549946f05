// SPDX-License-Identifier: Apache-2.0
// What the user typed after mpirun, understood.
// Errors: parse_options() throws tern::Error with a sentence that names the word and the nearest
// one.
// See: man1/mpirun, tests/unit/tools/options_test.cc.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tern::mpirun {

enum class Bind { kShare, kCore, kNuma, kNone };

// One section between ':'.
struct App {
  int ranks = 1;
  std::vector<std::string> command;
  std::string directory;                                         // empty: where mpirun stands
  std::vector<std::pair<std::string, std::string>> environment;  // set for these ranks
};

struct Options {
  std::vector<App> apps;
  std::vector<std::pair<std::string, std::string>> environment;  // set for all ranks
  Bind bind = Bind::kShare;
  bool tag_output = false;
  bool report_bindings = false;
  bool help = false;
  bool version = false;
  double timeout_s = 0;  // 0: none

  [[nodiscard]] int ranks() const noexcept;
};

// `words` is argv without argv[0].
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);

// The text of --help, made from the same table as the parser.
[[nodiscard]] std::string help_text();

}  // namespace tern::mpirun
