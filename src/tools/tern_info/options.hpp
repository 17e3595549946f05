// SPDX-License-Identifier: Apache-2.0
// The command line of tern_info.
#pragma once

#include <string>
#include <vector>

namespace tern::info {

struct Options {
  bool build = false, transports = false, topology = false, parameters = false;
  bool all = false;  // all of these; JSON has all unless some are named
  bool json = false;
  bool manual = false;
  bool version = false, help = false;
  std::string svg;
  std::string links;
  std::string program;
};

[[nodiscard]] inline bool chooses(const Options& options) noexcept {
  return options.build || options.transports || options.topology || options.parameters ||
         !options.svg.empty() || !options.links.empty();
}

/// Throws tern::Error with the nearest option.
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);
[[nodiscard]] std::string help_text();

}  // namespace tern::info
