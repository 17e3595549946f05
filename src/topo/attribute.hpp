// SPDX-License-Identifier: Apache-2.0
// Attributes of sysfs: small files of one value. Why: captured and damaged trees have directories,
// long files and huge numbers instead.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tern::topo {

/// The first line without spaces at its ends, to 256 bytes; empty: missing or unreadable.
[[nodiscard]] std::string attribute(const std::filesystem::path& file);
/// The number at the start: decimal, or hexadecimal after 0x. Null: no number, or above `most`.
[[nodiscard]] std::optional<uint64_t> attribute_number(const std::filesystem::path& file,
                                                       uint64_t most);
/// The names in a folder, ascending, to 65,536; empty: missing or unreadable.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace tern::topo
