// SPDX-License-Identifier: Apache-2.0
// A code address in words.
#pragma once

#include <string>

namespace tern {

/// Returns "./program(main+0x1f)", or addr2line's "./program(+0x11f9)"; "?" outside of files.
/// Throws std::bad_alloc.
[[nodiscard]] std::string call_site_in_words(const void* site);

}  // namespace tern
