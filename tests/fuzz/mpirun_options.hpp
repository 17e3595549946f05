// SPDX-License-Identifier: Apache-2.0
// drive_mpirun_options: any words as mpirun's command line, a word per line of the input.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tools/mpirun/option_parser.hpp"

namespace tern::fuzz {

inline void drive_mpirun_options(const uint8_t* data, size_t size) {
  std::string text = Bytes(data, size).text(size);
  std::replace(text.begin(), text.end(), '\0', '0');  // command lines have no zero bytes
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  try {
    const mpirun::Options options = mpirun::parse_options(words);
    TERN_ASSERT(options.help || options.version || !options.apps.empty());
    for (const mpirun::App& app : options.apps)
      TERN_ASSERT(!app.command.empty() || options.help || options.version);
  } catch (const Error& error) {
    TERN_ASSERT(error.what()[0] != '\0');
  }
}

}  // namespace tern::fuzz
