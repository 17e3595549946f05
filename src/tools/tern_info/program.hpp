// SPDX-License-Identifier: Apache-2.0
// MPI functions imported by a program or library, and those missing in Tern. See: elf(5).
#pragma once

#include <string>
#include <vector>

namespace tern::info {

struct Imports {
  std::vector<std::string> functions;
  std::vector<std::string> missing;
};

/// Reads a dynamic 64-bit ELF file in this machine's byte order. Throws tern::Error with the path.
[[nodiscard]] Imports imports_of(const std::string& path);

[[nodiscard]] std::string imports_in_words(const std::string& path, const Imports& imports,
                                           size_t columns);
[[nodiscard]] std::string imports_as_json(const std::string& path, const Imports& imports);

}  // namespace tern::info
