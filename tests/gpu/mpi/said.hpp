// SPDX-License-Identifier: Apache-2.0
// What a rank has said in a file in the place of its standard error. Why not by streams of C++: a
// bundled test would carry their megabyte with it.
#pragma once

#include <cstdio>
#include <string>

namespace tern::test {

inline std::string said_in(const char* file) {
  std::string all;
  std::FILE* const from = std::fopen(file, "r");
  if (from == nullptr) return all;
  char part[4096];
  for (size_t got = 0; (got = std::fread(part, 1, sizeof part, from)) > 0;) all.append(part, got);
  (void)std::fclose(from);
  return all;
}

}  // namespace tern::test
