// SPDX-License-Identifier: Apache-2.0
// MPI functions in the imports of a program or library, and the functions without a body in Tern.
// See: elf(5).
#pragma once

#include <string>
#include <vector>

namespace tern::info {

struct Imports {
  std::vector<std::string> functions;  // of MPI, sorted, without their PMPI_ names
  std::vector<std::string> missing;    // without a body in this version
};

/// Of a dynamic ELF file of 64 bits, in this machine's byte order. Throws tern::Error with the
/// path.
[[nodiscard]] Imports imports_of(const std::string& path);

/// One paragraph.
[[nodiscard]] std::string imports_in_words(const std::string& path, const Imports& imports,
                                           size_t columns);
[[nodiscard]] std::string imports_as_json(const std::string& path, const Imports& imports);

}  // namespace tern::info
