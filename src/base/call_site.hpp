// SPDX-License-Identifier: Apache-2.0
// A code address in words.
#pragma once

#include <cstdint>
#include <string>

namespace tern {

/// Returns "./program(main+0x1f)", or addr2line's "./program(+0x11f9)"; "?" outside of files.
/// Throws std::bad_alloc.
[[nodiscard]] std::string call_site_in_words(const void* site);

/// Returns "FILE:LINE(function)" of the code at `address`, or an empty text without debug
/// information. One caller at a time. Throws std::bad_alloc.
[[nodiscard]] std::string source_of_call(std::uintptr_t address);

}  // namespace tern
