// SPDX-License-Identifier: Apache-2.0
// The command line of tern_info.
#pragma once

#include <string>
#include <vector>

namespace tern::info {

struct Options {
  // The parts to print in full.
  bool build = false, transports = false, topology = false, parameters = false;
  bool all = false;  // of these; JSON has all, unless some are named
  bool json = false;
  bool manual = false;  // the parameters as a part of a manual page
  bool version = false, help = false;
  std::string svg;      // where the picture goes; empty: no picture is drawn
  std::string links;    // likewise that of the GPUs
  std::string program;  // whose imports are asked for
};

/// Whether parts are asked for, or a picture.
[[nodiscard]] inline bool chooses(const Options& options) noexcept {
  return options.build || options.transports || options.topology || options.parameters ||
         !options.svg.empty() || !options.links.empty();
}

/// Throws tern::Error with the nearest option.
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);
[[nodiscard]] std::string help_text();

}  // namespace tern::info
