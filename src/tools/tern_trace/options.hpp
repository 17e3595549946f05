// SPDX-License-Identifier: Apache-2.0
// The command line of tern_trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tern::trace_tool {

struct Options {
  std::vector<std::string> files;
  std::string html, chrome, json, otf2;  // outputs; "-" is standard output
  bool workload = false, diff = false;
  std::vector<std::pair<int32_t, int32_t>> ranks;  // ranges; empty: all
  double from = -1, to = -1;                       // seconds from the start; -1: no limit
  std::string region;
  bool help = false, version = false;
};

/// Throws tern::Error with the valid words.
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);
[[nodiscard]] std::string help_text();

}  // namespace tern::trace_tool
